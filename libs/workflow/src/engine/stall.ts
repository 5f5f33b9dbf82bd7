import type { WorkflowDefinition } from '../definition/definition.js';
import { StepStalledError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import type { StepOutcome } from '../model/states.js';
import { publish, type StallDetection } from '../observe/channels.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import { stallState } from '../store/leases.js';
import type { MemberEnd } from '../store/members.js';
import type { MoveEvent } from '../store/move.js';
import { SYSTEM } from '../transition/by.js';
import { changeRun, type LockedRun, type Move } from '../transition/change-run.js';
import { contextOfEnd } from '../transition/context-of-end.js';
import { endAttempt, outcomeOf } from '../transition/outcomes.js';
import type { StallAction } from '../workflow.options.js';
import type { EngineParts } from './engine.parts.js';
import { afterTry } from './member.js';

/** What came of it: false, when the row is not ours to judge (any more), or somebody holds its run. */
export interface Stalled {
  readonly stalled: boolean;
  readonly report: ErrorReport | null;
}

const NOT_STALLED: Stalled = { stalled: false, report: null };

/**
 * Ends an attempt whose worker is lost (`lease`), or whose body is in progress for longer than allowed (`sweep`), as the setting `stallAction`
 * says. Policies are not asked: nobody knows what the body did.
 *
 * Under the run's lock everything is asked again: the claim's number, and whether the lease (the time) is still over. A run of a class that is
 * not loaded here is left to a process that has it; so is one in a status that no attempt in progress can have.
 */
export async function declareStalled(
  parts: EngineParts,
  row: { readonly id: string; readonly workflowId: string; readonly claimNo: number },
  detection: StallDetection,
): Promise<Stalled> {
  const { database, registry, settings } = parts;
  let result = NOT_STALLED;
  await database.engineTransaction(async (transaction) => {
    result = NOT_STALLED;
    await changeRun(
      transaction,
      row.workflowId,
      async (locked): Promise<Move | null> => {
        const { run, row: current } = locked;
        const definition = registry.get(run.workflow_class)?.definition;
        if (!definition || (run.status !== 'performing' && run.status !== 'paused')) return null;
        if (current.id !== row.id || current.status !== 'in_progress' || current.claim_no !== row.claimNo) return null;
        const limit = definition.step(current.step_name)?.timeout ?? settings.stallThreshold;
        const { lapsed, hung, worker } = await stallState(transaction.connection, row.id, limit);
        if (detection === 'lease' ? !lapsed : !hung) return null;
        const kind = kindOf(settings.stallAction, definition, current.step_name);
        const error = stalledError(definition, locked, detection, { worker, limit, kind });
        const context = contextOfEnd(definition, locked, kind);
        transaction.afterCommit(() => publish('workflow.stall_detected', { ...context, detection, worker }));
        result = { stalled: true, report: { error, context } };
        return moveOf(parts, definition, locked, { kind, error, detection, worker });
      },
      { ifFree: true },
    );
  });
  return result;
}

/** What the loss of its worker makes of a member: tried again while it has attempts left, else dead-lettered. */
export function stalledMember(
  { registry, settings }: EngineParts,
  row: { readonly id: string; readonly claimNo: number; readonly job: string; readonly attempt: number },
  detection: StallDetection,
): MemberEnd | null {
  const job = registry.job(row.job)?.definition;
  if (!job) return null;
  const why =
    detection === 'lease' ? LOST : `it was in progress for longer than stallThreshold (${settings.stallThreshold} ms)`;
  const error = new StepStalledError(
    `Job ${job.name}, attempt ${row.attempt}: ${why}. Whether its effects happened is unknown.`,
  );
  return {
    id: row.id,
    claimNo: row.claimNo,
    ...afterTry(job, row.attempt),
    error: captureError(error, { backtraceLines: 0 }),
    only: detection === 'lease' ? 'lapsed' : 'hung',
  };
}

const WHAT_NEXT: Partial<Record<StepOutcome, string>> = {
  paused: ': find out, then resume the run to run the step again, or resumeAt the next one',
  reattempted: '; the step is tried again, as stallAction says',
  cancelled: '; the run is cancelled, as stallAction says',
};

const LOST = 'its worker was lost (killed, cut off, or its machine is gone)';

function moveOf(
  { settings }: EngineParts,
  definition: WorkflowDefinition,
  locked: LockedRun,
  stall: { kind: StepOutcome; error: StepStalledError; detection: StallDetection; worker: string | null },
): Move {
  const outcome = outcomeOf(stall.kind, {
    error: captureError(stall.error, { backtraceLines: settings.errorBacktraceLines }),
  });
  const move = endAttempt(definition, locked, outcome, { defaultQueue: settings.queue });
  const details = { detection: stall.detection, worker: stall.worker };
  const detected: MoveEvent = { name: 'stall_detected', about: 'closed', actor: SYSTEM.actor, details };
  return { ...move, events: [detected, ...move.events] };
}

/** A step that is no longer declared cannot be tried again: a person must say where the run goes on. */
function kindOf(action: StallAction, definition: WorkflowDefinition, name: string): StepOutcome {
  if (action === 'cancel') return 'cancelled';
  const step = definition.step(name);
  return action === 'reattempt' && step && step.kind !== 'removed' ? 'reattempted' : 'paused';
}

function stalledError(
  definition: WorkflowDefinition,
  { run, row }: LockedRun,
  detection: StallDetection,
  { worker, limit, kind }: { worker: string | null; limit: number; kind: StepOutcome },
): StepStalledError {
  const { timeout } = definition.step(row.step_name) ?? { timeout: null };
  const why =
    detection === 'lease'
      ? LOST
      : `it was in progress for longer than its ${timeout === null ? 'stallThreshold' : 'timeout'} (${limit} ms)`;
  return new StepStalledError(
    `${definition.name}, step "${row.step_name}", attempt ${row.attempt} of workflow ${run.id} on ${worker ?? 'an unknown worker'}: ${why}. ` +
      `Whether its effects happened is unknown${WHAT_NEXT[kind] ?? ''}.`,
  );
}
