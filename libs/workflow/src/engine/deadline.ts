import type { StepDefinition, TimeoutAction } from '../definition/definition.js';
import type { WaitDeadline } from '../definition/wait-timeout.js';
import { WaitTimedOutError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import { publish } from '../observe/channels.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';
import type { Connection } from '../store/connection.js';
import { isAborted } from '../store/sql-state.js';
import { recordNotice } from '../store/notice.js';
import { currentRow, lockRunIfFree, type RunRow, type StepRow } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { moveDeadline } from '../store/wait.js';
import { SYSTEM } from '../transition/by.js';
import { applyMove } from '../transition/change-run.js';
import { contextOfEnd } from '../transition/context-of-end.js';
import { endAttempt, outcomeOf, type Outcome } from '../transition/outcomes.js';
import { attemptOfDue, type Attempt } from './attempt.js';
import { contextOf } from './body.js';
import type { EngineParts } from './engine.parts.js';
import { deadlineOf } from './gate.js';
import type { LiveContext } from './live-context.js';
import { askUnderLock, swallowedError, WAIT_TIMEOUT } from './under-lock.js';

/** What came of a passed deadline. */
export interface FiredDeadline {
  /** False: it is not due (any more), or somebody holds the run. */
  readonly fired: boolean;
  /** Milliseconds until the same wait's next deadline (`notify`). */
  readonly nextDueIn: number | null;
  readonly report: ErrorReport | null;
}

const NOTHING: FiredDeadline = { fired: false, nextDueIn: null, report: null };
const FIRED: FiredDeadline = { fired: true, nextDueIn: null, report: null };

interface Waiting {
  readonly run: RunRow;
  readonly row: StepRow;
  readonly workflow: LoadedWorkflow;
  readonly step: StepDefinition;
}

/** A `waitTimeout` that failed at a notice, on its way out of the transaction that is to be rolled back. */
class NoticeFailed extends Error {
  constructor(readonly thrown: unknown) {
    super('a waitTimeout failed');
  }
}

/**
 * Applies a wait's `onTimeout`, once its deadline has passed, under the run's lock: of a signal and the deadline one wins. A run that
 * somebody holds is left for the next look.
 *
 * Under `notify` the application may be asked for the next deadline meanwhile. When that fails, or takes longer than `guardTimeout`, it is
 * rolled back, and a second transaction ends the attempt. Policies are not asked.
 */
export async function fireDeadline(
  parts: EngineParts,
  due: { id: string; workflowId: string },
  { evenIfNotDue = false } = {},
): Promise<FiredDeadline> {
  try {
    return await parts.database.sharedTransaction(parts.settings.guardTimeout * 2, async (transaction) => {
      const waiting = await lockWaiting(parts, transaction, due, evenIfNotDue);
      if (!waiting) return NOTHING;
      return waiting.step.onTimeout === 'notify'
        ? notify(parts, transaction, waiting)
        : apply(parts, transaction, waiting, waiting.step.onTimeout);
    });
  } catch (error) {
    if (!(error instanceof NoticeFailed)) throw error;
    return parts.database.engineTransaction(async (transaction) => {
      const waiting = await lockWaiting(parts, transaction, due, evenIfNotDue);
      return waiting ? endOn(parts, transaction, waiting, error.thrown, 'notify') : NOTHING;
    });
  }
}

async function lockWaiting(
  { registry }: EngineParts,
  { connection }: Transaction,
  due: { id: string; workflowId: string },
  evenIfNotDue: boolean,
): Promise<Waiting | undefined> {
  const run = await lockRunIfFree(connection, due.workflowId);
  if (!run || run.status !== 'waiting') return undefined;
  const row = await currentRow(connection, run);
  const workflow = registry.get(run.workflow_class);
  const step = row && workflow?.definition.step(row.step_name);
  if (!row || !workflow || !step?.waitFor || row.id !== due.id || row.status !== 'waiting') return undefined;
  return row.timeout_due || evenIfNotDue ? { run, row, workflow, step } : undefined;
}

async function apply(
  parts: EngineParts,
  transaction: Transaction,
  waiting: Waiting,
  action: Exclude<TimeoutAction, 'notify'>,
): Promise<FiredDeadline> {
  if (action === 'pause') return endOn(parts, transaction, waiting, timedOutError(waiting), action);
  if (action === 'run') await wake(transaction, waiting);
  else await end(parts, transaction, waiting, outcomeOf(action === 'skip' ? 'skipped' : 'cancelled'), action);
  return FIRED;
}

/** The same attempt is to run, without a signal. */
async function wake(transaction: Transaction, waiting: Waiting): Promise<void> {
  const { run, row } = waiting;
  await applyMove(transaction, run, {
    path: ['wake'],
    run: { id: run.id, from: run.status, to: 'ready' },
    keep: { id: row.id, due: 'time_out' },
    events: [{ name: 'wait_timed_out', about: 'kept', ...SYSTEM, details: detailsOf(row, 'run') }],
  });
  publishAfterCommit(transaction, waiting, 'run');
}

/** Tells that the signal is late, and goes on waiting for it. */
async function notify(parts: EngineParts, transaction: Transaction, waiting: Waiting): Promise<FiredDeadline> {
  const { run, row } = waiting;
  const { connection } = transaction;
  const next = await nextDeadline(parts, connection, waiting);
  try {
    await recordNotice(connection, { id: row.id, workflowId: run.id }, detailsOf(row, 'notify'));
  } catch (error) {
    // A query's error reaches the callable that swallows it before the driver learns what became of the transaction.
    if (isAborted(error)) throw new NoticeFailed(swallowedError(attemptOf(waiting), WAIT_TIMEOUT));
    throw error;
  }
  const nextDueIn = await moveDeadline(connection, row.id, next && ('at' in next ? next : { every: next.after }));
  publishAfterCommit(transaction, waiting, 'notify');
  return { ...FIRED, nextDueIn };
}

async function nextDeadline(
  parts: EngineParts,
  connection: Connection,
  waiting: Waiting,
): Promise<WaitDeadline | null> {
  const { step, workflow } = waiting;
  if (typeof step.waitTimeout === 'number') return { after: step.waitTimeout };
  const attempt = attemptOf(waiting);
  let context: LiveContext | null = null;
  const ask = async () => {
    context = await contextOf(parts, attempt, connection.manager);
    context.enter('guard');
    return deadlineOf(step, workflow.instance, context);
  };
  try {
    return await askUnderLock(parts, connection, attempt, WAIT_TIMEOUT, ask);
  } catch (error) {
    throw new NoticeFailed(error);
  } finally {
    // TypeScript does not see the assignment in the closure.
    (context as LiveContext | null)?.enter('ended');
  }
}

/** The attempt failed: the run pauses, and whoever reports errors is told. */
async function endOn(
  parts: EngineParts,
  transaction: Transaction,
  waiting: Waiting,
  error: unknown,
  action: TimeoutAction,
): Promise<FiredDeadline> {
  const record = captureError(error, { backtraceLines: parts.settings.errorBacktraceLines });
  const outcome = outcomeOf('paused', { error: record });
  await end(parts, transaction, waiting, outcome, action);
  const context = contextOfEnd(waiting.workflow.definition, waiting, outcome.kind);
  return { fired: true, nextDueIn: null, report: { error, context } };
}

async function end(
  { settings }: EngineParts,
  transaction: Transaction,
  waiting: Waiting,
  outcome: Outcome,
  action: TimeoutAction,
): Promise<void> {
  const { run, row, workflow } = waiting;
  const move = endAttempt(workflow.definition, { run, row }, outcome, { defaultQueue: settings.queue });
  const timedOut = { name: 'wait_timed_out', about: 'closed', ...SYSTEM, details: detailsOf(row, action) } as const;
  await applyMove(transaction, run, { ...move, events: [timedOut, ...move.events] });
  publishAfterCommit(transaction, waiting, action);
}

function detailsOf({ wait_for, timeout_at }: StepRow, action: TimeoutAction): Record<string, unknown> {
  return { wait_for, action, timeout_at };
}

function publishAfterCommit(transaction: Transaction, { run, row }: Waiting, action: TimeoutAction): void {
  transaction.afterCommit(() =>
    publish('workflow.wait_timed_out', {
      workflowClass: run.workflow_class,
      workflowId: run.id,
      stepName: row.step_name,
      attempt: row.attempt,
      waitFor: row.wait_for,
      action,
      timeoutAt: row.timeout_at === null ? null : new Date(row.timeout_at),
    }),
  );
}

function timedOutError({ run, row, workflow }: Waiting): WaitTimedOutError {
  const late = row.timeout_at === null ? 'in time' : `by ${row.timeout_at}`;
  return new WaitTimedOutError(
    `${workflow.definition.name}, step "${row.step_name}": the signal "${row.wait_for}" did not come ${late} (workflow ${run.id}). ` +
      'Resume the run to wait for it again, or resumeAt another step.',
  );
}

function attemptOf({ workflow, step, run, row }: Waiting): Attempt {
  return attemptOfDue(workflow, step, run, row);
}
