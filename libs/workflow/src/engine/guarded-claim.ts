import { matcherName } from '../definition/signal.js';
import type { WaitDeadline } from '../definition/wait-timeout.js';
import { StepNotDefinedError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';
import type { Connection } from '../store/connection.js';
import { isAborted } from '../store/sql-state.js';
import { isPassing, patiently } from '../store/patience.js';
import { lockDueRow, lockRun, stepRow, type RunAndRow } from '../store/run.js';
import { claimSignal } from '../store/signals.js';
import { takeRow } from '../store/take.js';
import type { Transaction } from '../store/transaction.js';
import { park } from '../store/wait.js';
import { applyMove } from '../transition/change-run.js';
import { contextOfEnd } from '../transition/context-of-end.js';
import { endAttempt, outcomeOf } from '../transition/outcomes.js';
import { attemptOfDue, type Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import { askGuards, cutOff, GuardFailed, type Asking } from './guards.js';
import type { LiveContext } from './live-context.js';
import { GUARDS, swallowedError } from './under-lock.js';

/** What came of a due row that needs a transaction of its own. */
export type GuardedClaim =
  /** Somebody else has it, or it moved on: nothing was done. */
  | { readonly kind: 'dropped' }
  /** A guard, a gravestone or a missing step ended the attempt. */
  | { readonly kind: 'ended'; readonly report: ErrorReport | null }
  /** No signal was there: the run waits, until this many milliseconds from now when its wait has a deadline. */
  | { readonly kind: 'parked'; readonly deadlineIn: number | null }
  /** The body is to run. */
  | { readonly kind: 'started'; readonly attempt: Attempt; readonly context: LiveContext | null }
  /** A guard threw: the row is in progress, and the policies decide. */
  | {
      readonly kind: 'threw';
      readonly attempt: Attempt;
      readonly context: LiveContext | null;
      readonly error: unknown;
    };

/**
 * Claims one guarded row: run lock (or nothing, when somebody holds it), the row read anew, cancel guards, skip guard; then
 * one commit of `in_progress` with `step_started`, or of what the guards decided. Until then nothing is written, so a kill in a
 * guard leaves the row scheduled, and nobody ever sees a state in between.
 *
 * A guard that throws, or takes longer than `guardTimeout`, rolls that transaction back; the row is then taken in a second
 * one, without `step_started`, and its error goes to the policies.
 */
export async function claimGuarded(
  parts: EngineParts,
  due: { id: string; workflowId: string },
  { evenIfNotDue = false } = {},
): Promise<GuardedClaim> {
  const { guardTimeout } = parts.settings;
  const asking: Asking = { since: performance.now(), attempt: null };
  let decided: GuardedClaim | undefined;
  try {
    return await parts.database.sharedTransaction(guardTimeout * 2, async (transaction) => {
      decided = await lockAndDecide(parts, transaction, due, evenIfNotDue, asking);
      return decided;
    });
  } catch (error) {
    if (decided?.kind === 'started' && isPassing(error) && (await isTaken(parts, decided.attempt))) return decided;
    const failed = error instanceof GuardFailed ? error : cutOff(asking, guardTimeout);
    if (!failed) throw error;
    const { attempt, context, thrown } = failed;
    if (!(await takeForPolicies(parts, attempt, evenIfNotDue))) return { kind: 'dropped' };
    return { kind: 'threw', attempt, context, error: thrown };
  }
}

async function lockAndDecide(
  parts: EngineParts,
  transaction: Transaction,
  scheduled: { id: string; workflowId: string },
  evenIfNotDue: boolean,
  asking: Asking,
): Promise<GuardedClaim> {
  const locked = await lockDue(parts, transaction.connection, scheduled, evenIfNotDue);
  if (!locked) return { kind: 'dropped' };
  const { run, row, workflow } = locked;
  const step = workflow.definition.step(row.step_name);
  if (!step) return pauseOnMissingStep(parts, transaction, locked);
  if (step.kind === 'removed') return end(parts, transaction, locked, 'skipped');

  const attempt = attemptOfDue(workflow, step, run, row);
  asking.since = performance.now();
  asking.attempt = attempt;
  const { verdict, context } = await askGuards(parts, transaction, locked, attempt);
  asking.attempt = null;
  // Without a body nobody uses the context any more.
  if (verdict !== null) context?.enter('ended');
  try {
    if (verdict === 'cancelled' || verdict === 'skipped') return await end(parts, transaction, locked, verdict);
    return await startOrPark(parts, transaction.connection, attempt, context, verdict);
  } catch (error) {
    // A query's error reaches the guard that swallows it before the driver learns what became of the transaction.
    if (isAborted(error)) throw new GuardFailed(attempt, context, swallowedError(attempt, GUARDS));
    throw error;
  }
}

/** The guards let the attempt pass: it waits for its signal, or its body is to run. */
async function startOrPark(
  parts: EngineParts,
  connection: Connection,
  attempt: Attempt,
  context: LiveContext | null,
  wait: { readonly deadline: WaitDeadline | null } | null,
): Promise<GuardedClaim> {
  const { row, step, gate } = attempt;
  if (wait) {
    return { kind: 'parked', deadlineIn: await park(connection, row, matcherName(step.waitFor!), wait.deadline) };
  }
  const signal = await gate?.find();
  if (signal) await claimSignal(connection, signal.id, row.id, signal.status === 'pending');
  const claimNo = await takeRow(connection, row, parts.worker, true);
  if (claimNo === undefined) return { kind: 'dropped' };
  gate?.pass();
  return { kind: 'started', attempt, context };
}

interface LockedDue extends RunAndRow {
  readonly workflow: LoadedWorkflow;
}

/** The run's lock, if nobody has it, and its row: undefined when it is no longer this row's turn. */
async function lockDue(
  { registry }: EngineParts,
  connection: Connection,
  due: { id: string; workflowId: string },
  evenIfNotDue: boolean,
): Promise<LockedDue | undefined> {
  const locked = await lockDueRow(connection, due);
  const workflow = locked && registry.get(locked.run.workflow_class);
  return workflow && (locked.row.due || evenIfNotDue) ? { ...locked, workflow } : undefined;
}

/** In a transaction of its own, after the guards' was rolled back: the row is in progress, but its body was never begun. */
function takeForPolicies(parts: EngineParts, { row }: Attempt, evenIfNotDue: boolean): Promise<boolean> {
  // The connection that was cut over it may have gone back to the pool before anybody noticed.
  return patiently(parts.database, (doubtful) =>
    parts.database.engineTransaction(async ({ connection }) => {
      if (doubtful && (await holdsRow(connection, parts, row))) return true;
      const locked = await lockDue(parts, connection, row, evenIfNotDue);
      if (!locked || locked.row.claim_no + 1 !== row.claimNo) return false;
      return (await takeRow(connection, row, parts.worker, false)) !== undefined;
    }),
  );
}

/** The commit's answer was lost: whether it was carried out is for the row to say. */
function isTaken(parts: EngineParts, { row }: Attempt): Promise<boolean> {
  return patiently(parts.database, () =>
    parts.database.engineTransaction(async ({ connection }) => {
      // The server may be at it still: its transaction has the run's lock.
      await lockRun(connection, row.workflowId);
      return holdsRow(connection, parts, row);
    }),
  );
}

async function holdsRow(
  connection: Connection,
  { worker }: EngineParts,
  { id, claimNo }: Attempt['row'],
): Promise<boolean> {
  const row = await stepRow(connection, id);
  return row?.status === 'in_progress' && row.claim_no === claimNo && row.worker_id === worker.id;
}

async function end(
  { settings }: EngineParts,
  transaction: Transaction,
  { run, row, workflow }: LockedDue,
  kind: 'cancelled' | 'skipped',
): Promise<GuardedClaim> {
  const { close, ...move } = endAttempt(workflow.definition, { run, row }, outcomeOf(kind), {
    defaultQueue: settings.queue,
  });
  // Which release skips and cancels is what its numbers are asked for.
  await applyMove(transaction, run, { ...move, close: { ...close!, appRevision: settings.appRevision } });
  return { kind: 'ended', report: null };
}

/** The class no longer declares the step: a person must say where the run goes on. Policies are not asked. */
async function pauseOnMissingStep(
  { settings }: EngineParts,
  transaction: Transaction,
  { run, row, workflow }: LockedDue,
): Promise<GuardedClaim> {
  const { definition } = workflow;
  const error = new StepNotDefinedError(
    `${definition.name} no longer declares the step "${row.step_name}", which workflow ${run.id} was scheduled on. Declare it again, ` +
      'put a gravestone in its place (@RemovedStep), or resume the run at another step (resumeAt).',
  );
  const outcome = outcomeOf('paused', { error: captureError(error, { backtraceLines: settings.errorBacktraceLines }) });
  await applyMove(transaction, run, endAttempt(definition, { run, row }, outcome, { defaultQueue: settings.queue }));
  const context = contextOfEnd(definition, { run, row }, outcome.kind);
  return { kind: 'ended', report: { error, context } };
}
