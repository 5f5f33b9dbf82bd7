import { StepTimedOutError } from '../errors.js';
import { isAborted, isRetryable } from '../store/sql-state.js';
import { isPassing, outlasted, patiently } from '../store/patience.js';
import { lockRun, recordLateCompletion } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { outcomeOf, type Outcome } from '../transition/outcomes.js';
import { LONGEST_TIMER_MS } from './longest-timer.js';
import type { Attempt } from './attempt.js';
import { contextOf, runBody, type BodyResult } from './body.js';
import type { EngineParts } from './engine.parts.js';
import type { LiveContext } from './live-context.js';
import { settleWithin } from './settle-one.js';
import type { Settlement } from './settlement.js';
import { tellApplied, wasApplied } from './was-applied.js';

/** How often a body is run in one attempt when it meets deadlocks or serialization failures. */
const TRIES = 3;

/** A body that was asked to stop may still end in order, with its transaction, before the server takes that away. */
const ABORT_GRACE_MS = 1_000;

/** Carries a result out of a transaction that is to be rolled back. */
class RolledBack extends Error {
  constructor(readonly result: TransactionalResult) {
    super('rolled back');
  }
}

/** The transaction's connection was lost, and its body does not run (any more): what it wrote is gone, as after a deadlock. */
class ConnectionLost extends Error {}

/** Settled with the body's own writes, or still to be settled apart from them. */
export type TransactionalResult =
  | { readonly kind: 'settled'; readonly outcome: Outcome; readonly settlement: Settlement }
  | { readonly kind: 'unsettled'; readonly body: BodyResult };

/**
 * A `transactional` step: its body runs in one database transaction, and its outcome commits with what it wrote by
 * `ctx.manager`. The run's lock is taken at the end only, so no body holds it.
 *
 * A throw and `reattempt` say that the attempt failed: the writes are rolled back and the outcome is recorded apart. So
 * is an outcome that nobody wants any more.
 */
export async function runTransactional(
  parts: EngineParts,
  attempt: Attempt,
  context: LiveContext,
): Promise<TransactionalResult> {
  for (let number = 1; ; number += 1) {
    try {
      if (number > 1) context.startAgain(await contextOf(parts, attempt));
      return await once(parts, attempt, context);
    } catch (error) {
      if (error instanceof RolledBack) return error.result;
      if (isRetryable(error) && number < TRIES) continue;
      if (error instanceof ConnectionLost && number < TRIES && (await outlasted(parts.database, error.cause))) continue;
      // A body that went on past its time-out was cut off with its transaction: the time-out is what there is to tell.
      const { abortedWith } = attempt;
      const thrown = error instanceof ConnectionLost ? error.cause : error;
      const cause = abortedWith instanceof StepTimedOutError ? abortedWith : thrown;
      return { kind: 'unsettled', body: { threw: true, error: cause } };
    } finally {
      context.transactionManager = undefined;
    }
  }
}

async function once(parts: EngineParts, attempt: Attempt, context: LiveContext): Promise<TransactionalResult> {
  const idleLimit = (attempt.step.timeout ?? parts.settings.stallThreshold) + ABORT_GRACE_MS;
  const begun = performance.now();
  let running: Promise<BodyResult> | undefined;
  let ended: Extract<TransactionalResult, { kind: 'settled' }> | undefined;
  const ending = parts.database.sharedTransaction(idleLimit, async (transaction) => {
    context.transactionManager = transaction.connection.manager;
    running = runBody(parts, attempt, context);
    const body = await running;
    if (body.threw && isRetryable(body.error)) throw body.error;
    if (body.threw && isPassing(body.error) && (await transaction.connection.isLost())) throw body.error;
    if (body.threw || context.verb?.kind === 'reattempted') throw new RolledBack({ kind: 'unsettled', body });
    await assertOpen(attempt, transaction);
    const outcome = outcomeOf(context.verb?.kind ?? 'completed', { output: context.storedOutput });
    const settlement = await settleWithin(parts, transaction, attempt, outcome);
    if (settlement !== 'settled') throw new RolledBack({ kind: 'settled', outcome, settlement });
    ended = { kind: 'settled', outcome, settlement };
  });
  try {
    await ending;
    return ended!;
  } catch (error) {
    if (error instanceof RolledBack || !isPassing(error)) throw error;
    if (ended && (await isStored(parts, attempt, ended.outcome))) return ended;
    if (!(await hasEnded(attempt, running, idleLimit - (performance.now() - begun)))) throw error;
    throw new ConnectionLost(`${attempt.label}: the transaction's connection was lost`, { cause: error });
  }
}

/** The commit's answer was lost: whether it was carried out is for the row to say. */
function isStored(parts: EngineParts, attempt: Attempt, outcome: Outcome): Promise<boolean> {
  return patiently(parts.database, () =>
    parts.database.engineTransaction(async (transaction) => {
      const { connection } = transaction;
      // The server may be at it still: its transaction has the run's lock.
      await lockRun(connection, attempt.row.workflowId);
      const stored = await wasApplied(connection, attempt, outcome);
      if (stored) transaction.afterCommit(() => tellApplied(parts, attempt, outcome));
      return stored;
    }),
  );
}

/**
 * Whether the body was never begun, or has ended: it hears of the lost connection by its next query. Its time is the step's; one that is asked to stop, or
 * takes longer, may go on for ever, and must not be run a second time beside itself.
 */
async function hasEnded(attempt: Attempt, running: Promise<BodyResult> | undefined, limit: number): Promise<boolean> {
  if (!running) return attempt.abortedWith === undefined;
  let timer: NodeJS.Timeout | undefined;
  const goesOn = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.min(Math.max(limit, ABORT_GRACE_MS), LONGEST_TIMER_MS));
    attempt.abortSignal.addEventListener('abort', () => resolve(false), { once: true });
  });
  const over = running.then(
    () => attempt.abortedWith === undefined,
    () => attempt.abortedWith === undefined,
  );
  try {
    return attempt.abortedWith === undefined && (await Promise.race([over, goesOn]));
  } finally {
    clearTimeout(timer);
  }
}

/** Notes a transactional step's outcome that came too late, after its writes were rolled back. */
export async function recordLate(parts: EngineParts, { row }: Attempt): Promise<void> {
  await parts.database.engineConnect((connection) => recordLateCompletion(connection, row.workflowId, row.id));
}

/** Asks the server: a query's error reaches the body that swallows it before the driver learns what became of the transaction. */
async function assertOpen({ label }: Attempt, transaction: Transaction): Promise<void> {
  let isOurs: boolean;
  try {
    isOurs = await transaction.isMarked();
  } catch (error) {
    if (!isAborted(error)) throw error;
    throw new Error(
      `${label}: a statement in the step's transaction failed, and the body went on. PostgreSQL takes nothing more in such a ` +
        'transaction: let the error pass, or put what may fail behind a savepoint (ctx.manager.transaction).',
      { cause: error },
    );
  }
  if (isOurs) return;
  throw new Error(
    `${label}: the body ended the step's transaction itself. Leave commit and rollback to the engine: return, or throw.`,
  );
}
