import type { WorkflowDefinition } from '../definition/definition.js';
import { FanOutFailedError, StepNotDefinedError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import type { StepOutcome } from '../model/states.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import { countMembers, hasOpenMember } from '../store/batches.js';
import { currentRow, lockRun } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { SYSTEM } from './by.js';
import { applyMove } from './change-run.js';
import { contextOfEnd } from './context-of-end.js';
import { endAttempt, outcomeOf } from './outcomes.js';

const OUTCOMES = { pause: 'paused', cancel: 'cancelled', skip: 'skipped' } as const;

/** What came of a join: nothing to do (yet), or the step's end, with the error it recorded. */
export type Joined = { readonly report: ErrorReport | null } | null;

/**
 * Ends a fan-out step whose members have all ended: run lock, then the question asked anew, then one guarded move. Of all who
 * try, one wins.
 *
 * A batch with fewer members left than it opened with has lost its record: its outcome is unknown, and the run pauses whatever
 * `onBatchFailure` says.
 */
export async function joinBatch(
  transaction: Transaction,
  batch: { id: string; workflowId: string },
  definitionOf: (workflow: string) => WorkflowDefinition,
  settings: { defaultQueue: string; errorBacktraceLines: number },
): Promise<Joined> {
  const { connection } = transaction;
  const run = await lockRun(connection, batch.workflowId);
  const row = run && (await currentRow(connection, run));
  if (!row || row.id !== batch.id || row.status !== 'waiting' || row.batch_size === null) return null;
  if (await hasOpenMember(connection, batch.id)) return null;
  const definition = definitionOf(run.workflow_class);
  const step = definition.step(row.step_name);
  const counts = await countMembers(connection, { workflowId: run.id, step: row.step_name, id: row.id });
  const gone = counts.total < row.batch_size;
  let error: FanOutFailedError | StepNotDefinedError | null = null;
  let kind: StepOutcome = 'completed';
  if (!step) {
    error = notDeclared(definition, run.id, row.step_name);
    kind = 'paused';
  } else if (gone || counts.failed) {
    error = failure(run.id, row, counts, gone);
    kind = gone ? 'paused' : OUTCOMES[step.onBatchFailure];
  }
  const outcome = outcomeOf(kind, {
    error: error && captureError(error, { backtraceLines: settings.errorBacktraceLines }),
  });
  const move = endAttempt(definition, { run, row }, outcome, settings);
  const details = { failed_jobs: counts.failed, total_jobs: row.batch_size };
  const finished = { name: 'fan_out_finished', about: 'closed', actor: SYSTEM.actor, details } as const;
  await applyMove(transaction, run, { ...move, events: [finished, ...move.events] });
  if (!error) return { report: null };
  return { report: { error, context: contextOfEnd(definition, { run, row }, kind) } };
}

/** What follows a step that the class does not declare is unknown: a person must say where the run goes on. */
function notDeclared({ name }: WorkflowDefinition, workflowId: string, step: string): StepNotDefinedError {
  return new StepNotDefinedError(
    `${name} no longer declares the fan-out "${step}", whose batch ended (workflow ${workflowId}). Resume the run at another step ` +
      '(resumeAt), or declare the step again.',
  );
}

function failure(
  workflowId: string,
  row: { step_name: string; batch_size: number | null },
  { total, failed }: { total: number; failed: number },
  gone: boolean,
): FanOutFailedError {
  return new FanOutFailedError(
    gone
      ? `The batch of step "${row.step_name}" of workflow ${workflowId} has ${total} of its ${row.batch_size} jobs left: somebody deleted ` +
          'rows, so its outcome is unknown. Resume the run to fan out again, or resumeAt the next step.'
      : `${failed} of ${row.batch_size} jobs dead-lettered`,
  );
}
