import { deserialize } from '../model/payload.js';
import type { EventName, SignalStatus, StepOutcome, StepStatus } from '../model/states.js';
import type { WorkflowEvent } from '../model/workflow-event.entity.js';
import type { WorkflowSignal } from '../model/workflow-signal.entity.js';
import type { WorkflowStep } from '../model/workflow-step.entity.js';

/** What a failed attempt kept of its error. */
export interface StepError {
  readonly class: string;
  readonly message: string;
  /** The application's own frames, one a line. */
  readonly backtrace: string | null;
  readonly causes: readonly { readonly class: string; readonly message: string }[];
}

/** One attempt of a step, as it was read. */
export interface StepRecord {
  readonly id: string;
  readonly stepName: string;
  readonly attempt: number;
  readonly status: StepStatus;
  /** What its end did to the run; null while it is open, and when it was superseded by `resumeAt`. */
  readonly outcome: StepOutcome | null;
  readonly queue: string;
  readonly priority: number;
  readonly scheduledAt: Date;
  /** Null while its run is paused. */
  readonly availableAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** `hostname:pid` of the process that ran it. */
  readonly worker: string | null;
  readonly appRevision: string | null;
  /** The signal it waits or waited for, in words. */
  readonly waitFor: string | null;
  readonly waitingSince: Date | null;
  /** The wait's deadline; null without one, and while its run is paused. */
  readonly timeoutAt: Date | null;
  readonly output: Record<string, unknown> | null;
  readonly error: StepError | null;
}

/** One line of the audit trail. */
export interface EventRecord {
  readonly id: string;
  readonly name: EventName;
  /** The attempt it is about; null for what concerns the run as a whole. */
  readonly stepId: string | null;
  /** That attempt's step, and its number. */
  readonly stepName: string | null;
  readonly attempt: number | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly details: Record<string, unknown> | null;
  readonly createdAt: Date;
}

/** A signal as its sender gets it back. */
export interface DeliveredSignal {
  readonly id: string;
  readonly workflowId: string;
  readonly name: string;
  readonly payload: unknown;
  readonly idempotencyKey: string | null;
  /** `claimed`: it woke the step that waited for it; `pending`: it is kept for a step to come. */
  readonly status: SignalStatus;
  /** A delivery with this key was stored before: this is that one, and nothing else happened. */
  readonly duplicateDelivery: boolean;
}

/** A signal that was sent to the run. */
export interface SignalRecord {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly idempotencyKey: string | null;
  readonly status: SignalStatus;
  readonly claimedByStepId: string | null;
  readonly createdAt: Date;
}

type Load = (reference: { type: string; id: string }) => Promise<unknown>;

export async function stepRecord(row: WorkflowStep, load: Load): Promise<StepRecord> {
  const { id, stepName, attempt, status, outcome, queue, priority, worker, appRevision } = row;
  const { scheduledAt, availableAt, startedAt, finishedAt, waitFor, waitingSince, timeoutAt } = row;
  const error =
    row.errorClass === null
      ? null
      : {
          class: row.errorClass,
          message: row.errorMessage ?? '',
          backtrace: row.errorBacktrace,
          causes: row.errorCauses ?? [],
        };
  const output = row.output === null ? null : ((await deserialize(row.output, { load })) as Record<string, unknown>);
  return {
    id, stepName, attempt, status, outcome, queue, priority,
    scheduledAt, availableAt, startedAt, finishedAt, waitFor, waitingSince, timeoutAt, worker, appRevision, output, error,
  }; // prettier-ignore
}

export function eventRecord(
  { id, name, stepId, actor, reason, details, createdAt }: WorkflowEvent,
  about: Pick<WorkflowStep, 'stepName' | 'attempt'> | undefined,
): EventRecord {
  const { stepName = null, attempt = null } = about ?? {};
  return { id, name, stepId, stepName, attempt, actor, reason, details, createdAt };
}

export async function signalRecord(row: WorkflowSignal, load: Load): Promise<SignalRecord> {
  const { id, name, idempotencyKey, status, claimedByStepId, createdAt } = row;
  return {
    id,
    name,
    payload: await deserialize(row.payload, { load }),
    idempotencyKey,
    status,
    claimedByStepId,
    createdAt,
  };
}
