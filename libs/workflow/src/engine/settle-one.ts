import { captureError } from '../model/error-record.js';
import { sqlStateOf } from '../store/sql-state.js';
import { lockClaimedRow, recordLateCompletion, runStatus } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { applyMove } from '../transition/change-run.js';
import { endAttempt, outcomeOf, type Outcome } from '../transition/outcomes.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import type { Settlement } from './settlement.js';
import { tellApplied, wasApplied } from './was-applied.js';
import { openBatch } from './open-batch.js';
import { patiently } from '../store/patience.js';

/** Data, constraint and limit errors: the outcome itself cannot be stored. */
const OF_THE_OUTCOME = new Set(['22', '23', '54']);

/**
 * Applies an attempt's outcome to its run, in a transaction of its own. Waits for the database when it is away. An outcome
 * that PostgreSQL refuses to store is a failure like any other: the run pauses on that error.
 *
 * @param doubtful it was sent before, and no answer came: it may be stored already
 */
export async function settleOne(
  parts: EngineParts,
  attempt: Attempt,
  outcome: Outcome,
  doubtful = false,
): Promise<Settlement> {
  try {
    return await settlePatiently(parts, attempt, outcome, doubtful);
  } catch (error) {
    if (!OF_THE_OUTCOME.has(sqlStateOf(error)?.slice(0, 2) ?? '')) throw error;
    const refused = captureError(error, { backtraceLines: parts.settings.errorBacktraceLines });
    return settlePatiently(parts, attempt, outcomeOf('paused', { error: refused }), false);
  }
}

function settlePatiently(
  parts: EngineParts,
  attempt: Attempt,
  outcome: Outcome,
  sentBefore: boolean,
): Promise<Settlement> {
  return patiently(parts.database, (again) =>
    parts.database.engineTransaction(async (transaction) => {
      const { connection } = transaction;
      const settlement = await settleWithin(parts, transaction, attempt, outcome);
      if (settlement !== 'late') return settlement;
      if ((sentBefore || again) && (await wasApplied(connection, attempt, outcome))) {
        transaction.afterCommit(() => tellApplied(parts, attempt, outcome));
        return 'settled';
      }
      await recordLateCompletion(connection, attempt.row.workflowId, attempt.row.id);
      return 'late';
    }),
  );
}

/** Applies it in a transaction that is open. The claim's number fences it: an attempt that was taken from us changes nothing. */
export async function settleWithin(
  parts: EngineParts,
  transaction: Transaction,
  attempt: Attempt,
  outcome: Outcome,
): Promise<Settlement> {
  const { row, workflow, batch } = attempt;
  // A fan-out's body that returned has not completed its step: the batch it added will.
  if (batch && outcome.kind === 'completed') return openBatch(parts, transaction, attempt, batch, outcome.output);
  const { connection } = transaction;
  const locked = await lockClaimedRow(connection, row);
  if (!locked) return (await runStatus(connection, row.workflowId)) === null ? 'gone' : 'late';
  const move = endAttempt(workflow.definition, locked, outcome, { defaultQueue: parts.settings.queue });
  await applyMove(transaction, locked.run, move);
  return 'settled';
}
