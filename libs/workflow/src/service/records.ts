import { deserialize } from '../model/payload.js';
import type { EventName, SignalStatus, StepOutcome, StepStatus } from '../model/states.js';
import type { WorkflowEvent } from '../model/workflow-event.entity.js';
import type { WorkflowSignal } from '../model/workflow-signal.entity.js';
import type { WorkflowStep } from '../model/workflow-step.entity.js';

/** What a failed attempt kept of its error. */
export interface StepError {
  /** The error's class, such as `GatewayTimeout`. */
  readonly class: string;
  /** Its message. */
  readonly message: string;
  /** The application's own frames, one a line. */
  readonly backtrace: string | null;
  /** Its `cause`, that one's cause, and so on, twenty at most; the errors of an `AggregateError` too. */
  readonly causes: readonly {
    /** The cause's class. */
    readonly class: string;
    /** Its message. */
    readonly message: string;
  }[];
}

/** One attempt of a step, as it was read. */
export interface StepRecord {
  /** The attempt's id. */
  readonly id: string;
  /** The step's name. */
  readonly stepName: string;
  /** 1, 2, 3, … for each step of a run. */
  readonly attempt: number;
  /** Where it stands. */
  readonly status: StepStatus;
  /** What its end did to the run; null while it is open, and when it was superseded by `resumeAt`. */
  readonly outcome: StepOutcome | null;
  /** The queue it is claimed from. */
  readonly queue: string;
  /** Smaller runs first. */
  readonly priority: number;
  /** When it was, or is, to run. */
  readonly scheduledAt: Date;
  /** Null while its run is paused. */
  readonly availableAt: Date | null;
  /** When its body began; null: it did not. */
  readonly startedAt: Date | null;
  /** When it ended; null: it is open. */
  readonly finishedAt: Date | null;
  /** `hostname:pid` of the process that ran it. */
  readonly worker: string | null;
  /** The revision of the application that ran it; null: not known. */
  readonly appRevision: string | null;
  /** The signal it waits or waited for, in words. */
  readonly waitFor: string | null;
  /** When it parked on its signal or its batch; null: it never did. */
  readonly waitingSince: Date | null;
  /** The wait's deadline; null without one, and while its run is paused. */
  readonly timeoutAt: Date | null;
  /** What `ctx.output()` kept, read back; null: nothing. */
  readonly output: Record<string, unknown> | null;
  /** What it failed with; null: it did not. */
  readonly error: StepError | null;
}

/** One line of the audit trail. */
export interface EventRecord {
  /** The event's id: later ones have greater ones. */
  readonly id: string;
  /** What happened. */
  readonly name: EventName;
  /** The attempt it is about; null for what concerns the run as a whole. */
  readonly stepId: string | null;
  /** That attempt's step, and its number. */
  readonly stepName: string | null;
  /** That attempt's number. */
  readonly attempt: number | null;
  /** Who did it: `app` from code by default, `system` for the worker, otherwise who was named. */
  readonly actor: string;
  /** Why, in the words of who did it. */
  readonly reason: string | null;
  /** What else there is to say, by the kind of event. */
  readonly details: Record<string, unknown> | null;
  /** When, by the database's clock. */
  readonly createdAt: Date;
}

/** A signal as its sender gets it back. */
export interface DeliveredSignal {
  /** The signal's id. */
  readonly id: string;
  /** The run it was sent to. */
  readonly workflowId: string;
  /** What it was sent as. */
  readonly name: string;
  /** What it was sent with. */
  readonly payload: unknown;
  /** The key it was sent under; null: none. */
  readonly idempotencyKey: string | null;
  /** `claimed`: it woke the step that waited for it; `pending`: it is kept for a step to come. */
  readonly status: SignalStatus;
  /** A delivery with this key was stored before: this is that one, and nothing else happened. */
  readonly duplicateDelivery: boolean;
}

/** A signal that was sent to the run. */
export interface SignalRecord {
  /** The signal's id. */
  readonly id: string;
  /** What it was sent as. */
  readonly name: string;
  /** What it was sent with, read back. */
  readonly payload: unknown;
  /** The key it was sent under; null: none. */
  readonly idempotencyKey: string | null;
  /** What became of it. */
  readonly status: SignalStatus;
  /** The attempt that took it; null: none did. */
  readonly claimedByStepId: string | null;
  /** When it was stored, by the database's clock. */
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
