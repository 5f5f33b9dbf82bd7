import { call } from '../definition/callable.js';
import type { StepDefinition } from '../definition/definition.js';
import { StepNotDefinedError, StepTimedOutError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import { isLegal } from '../model/states.js';
import type { ErrorContext } from '../observe/error-reporter.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';
import { transactionStatus, type Connection } from '../store/connection.js';
import { isAborted } from '../store/database.js';
import { currentRow, lockRunIfFree, type RunRow, type StepRow } from '../store/run.js';
import { takeRow } from '../store/take.js';
import type { Transaction } from '../store/transaction.js';
import { applyMove } from '../transition/change-run.js';
import { endAttempt, outcomeOf } from '../transition/outcomes.js';
import { Attempt } from './attempt.js';
import { contextOf, inStep } from './body.js';
import type { EngineParts } from './engine.parts.js';
import type { LiveContext } from './live-context.js';

/** What came of a due row that needs a transaction of its own. */
export type GuardedClaim =
  /** Somebody else has it, or it moved on: nothing was done. */
  | { readonly kind: 'dropped' }
  /** A guard, a gravestone or a missing step ended the attempt. */
  | { readonly kind: 'ended'; readonly report: { readonly error: unknown; readonly context: ErrorContext } | null }
  /** The body is to run. */
  | { readonly kind: 'started'; readonly attempt: Attempt; readonly context: LiveContext | null }
  /** A guard threw: the row is in progress, and the policies decide. */
  | {
      readonly kind: 'threw';
      readonly attempt: Attempt;
      readonly context: LiveContext | null;
      readonly error: unknown;
    };

/** A guard's failure on its way out of the transaction that is to be rolled back. */
class GuardFailed extends Error {
  constructor(
    readonly attempt: Attempt,
    readonly context: LiveContext | null,
    readonly thrown: unknown,
  ) {
    super('a guard failed');
  }
}

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
  try {
    return await parts.database.sharedTransaction(parts.settings.guardTimeout * 2, (transaction) =>
      lockAndDecide(parts, transaction, due, evenIfNotDue),
    );
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error;
    const { attempt, context, thrown } = error;
    if (!(await takeForPolicies(parts, attempt, evenIfNotDue))) return { kind: 'dropped' };
    return { kind: 'threw', attempt, context, error: thrown };
  }
}

async function lockAndDecide(
  parts: EngineParts,
  transaction: Transaction,
  due: { id: string; workflowId: string },
  evenIfNotDue: boolean,
): Promise<GuardedClaim> {
  const locked = await lockDue(parts, transaction.connection, due, evenIfNotDue);
  if (!locked) return { kind: 'dropped' };
  const { run, row, workflow } = locked;
  const step = workflow.definition.step(row.step_name);
  if (!step) return pauseOnMissingStep(parts, transaction, locked);
  if (step.kind === 'removed') return end(parts, transaction, locked, 'skipped');

  const attempt = attemptOf(workflow, step, run, row);
  const { verdict, context } = await askGuards(parts, transaction, attempt);
  try {
    if (verdict) return await end(parts, transaction, locked, verdict);
    const claimNo = await takeRow(transaction.connection, { id: row.id, workflowId: run.id }, parts.worker, true);
    return claimNo === undefined ? { kind: 'dropped' } : { kind: 'started', attempt, context };
  } catch (error) {
    // A query's error reaches the guard that swallows it before the driver learns what became of the transaction.
    if (isAborted(error)) throw new GuardFailed(attempt, context, swallowedError(attempt));
    throw error;
  }
}

interface LockedDue {
  readonly run: RunRow;
  readonly row: StepRow;
  readonly workflow: LoadedWorkflow;
}

/** The run's lock, if nobody has it, and its row read after it was taken: undefined when it is no longer this row's turn. */
async function lockDue(
  { registry }: EngineParts,
  connection: Connection,
  due: { id: string; workflowId: string },
  evenIfNotDue: boolean,
): Promise<LockedDue | undefined> {
  const run = await lockRunIfFree(connection, due.workflowId);
  if (!run || !isLegal('claim', run.status)) return undefined;
  const row = await currentRow(connection, run);
  const workflow = registry.get(run.workflow_class);
  if (!row || !workflow || row.id !== due.id || row.status !== 'scheduled') return undefined;
  return row.due || evenIfNotDue ? { run, row, workflow } : undefined;
}

/** Cancel guards first, then `skipIf`, in the transaction that holds the run's lock and within `guardTimeout`. */
async function askGuards(
  parts: EngineParts,
  transaction: Transaction,
  attempt: Attempt,
): Promise<{ verdict: 'cancelled' | 'skipped' | null; context: LiveContext | null }> {
  const { workflow, step } = attempt;
  const { cancelGuards } = workflow.definition;
  if (!cancelGuards.length && step.skipIf === null) return { verdict: null, context: null };
  const { connection } = transaction;
  let context: LiveContext | null = null;
  const ask = async () => {
    context = await contextOf(parts, attempt, connection.manager);
    context.enter('guard');
    for (const guard of cancelGuards) if (await call(guard, workflow.instance, context)) return 'cancelled';
    return step.skipIf !== null && (await call(step.skipIf, workflow.instance, context)) ? 'skipped' : null;
  };
  try {
    const verdict = await withinTime(parts, connection, attempt, () => inStep(attempt, ask));
    assertOpen(attempt, transactionStatus(connection.client));
    return { verdict, context };
  } catch (error) {
    throw new GuardFailed(attempt, context, error);
  } finally {
    // TypeScript does not see the assignment in the closure.
    if (context) (context as LiveContext).transactionManager = undefined;
  }
}

function swallowedError({ label }: Attempt): Error {
  return new Error(
    `${label}: a guard's query failed in the database, and the guard went on. Let its error pass to the policies.`,
  );
}

function assertOpen(attempt: Attempt, status: ReturnType<typeof transactionStatus>): void {
  if (status === 'E') throw swallowedError(attempt);
  if (status === 'I') {
    throw new Error(
      `${attempt.label}: a guard ended its transaction itself, and gave the run's lock away with it. Leave commit and rollback to the engine.`,
    );
  }
}

/** Bounds the guards: what they still wait for in the database is cancelled there, so that the lock is given back. */
async function withinTime<T>(
  { database, settings }: EngineParts,
  connection: Connection,
  attempt: Attempt,
  ask: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      const error = new StepTimedOutError(
        `${attempt.label}: its guards took longer than guardTimeout (${settings.guardTimeout} ms); they hold the run's lock, so keep ` +
          'them short. What they wrote was rolled back.',
      );
      attempt.abort(error);
      database.cancelQuery(connection).then(
        () => reject(error),
        () => reject(error),
      );
    }, settings.guardTimeout);
  });
  const asked = ask();
  await Promise.race([asked, late]).catch(() => undefined);
  clearTimeout(timer);
  // What the cancelled query threw, or what the guard made of it, is no longer asked for. And the cancellation must have been
  // sent before anything else is: it would hit that.
  if (isLate) await late;
  return asked;
}

/** In a transaction of its own, after the guards' was rolled back: the row is in progress, but its body was never begun. */
function takeForPolicies(parts: EngineParts, { row }: Attempt, evenIfNotDue: boolean): Promise<boolean> {
  return parts.database.engineTransaction(async ({ connection }) => {
    const locked = await lockDue(parts, connection, row, evenIfNotDue);
    if (!locked || locked.row.claim_no + 1 !== row.claimNo) return false;
    return (await takeRow(connection, row, parts.worker, false)) !== undefined;
  });
}

async function end(
  { settings }: EngineParts,
  transaction: Transaction,
  { run, row, workflow }: LockedDue,
  kind: 'cancelled' | 'skipped',
): Promise<GuardedClaim> {
  const move = endAttempt(workflow.definition, { run, row }, outcomeOf(kind), { defaultQueue: settings.queue });
  await applyMove(transaction, run, move);
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
  const context = {
    workflowClass: definition.name,
    workflowId: run.id,
    stepName: row.step_name,
    attempt: row.attempt,
    outcome: outcome.kind,
  };
  return { kind: 'ended', report: { error, context } };
}

function attemptOf(workflow: LoadedWorkflow, step: StepDefinition, run: RunRow, row: StepRow): Attempt {
  return new Attempt(
    workflow,
    step,
    {
      id: row.id,
      workflowId: run.id,
      attempt: row.attempt,
      claimNo: row.claim_no + 1,
      queue: row.queue,
      priority: row.priority,
    },
    {
      args: run.arguments,
      subject: run.subject_type === null ? null : { type: run.subject_type, id: run.subject_id! },
    },
  );
}
