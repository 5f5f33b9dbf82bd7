import { isLegal, transition, type EngineMove, type RunStatus, type Verb } from '../model/states.js';
import { applyChange, type Change, type Changed } from '../store/move.js';
import { currentRow, lockRun, lockRunIfFree, type RunRow, type StepRow } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { tellChange } from './tell.js';

/** A change, with the rows of the transition table that it goes by. */
export interface Move extends Change {
  /** One after the other: a guard that cancels goes `['claim', 'step_cancel']`. */
  readonly path: readonly (Verb | EngineMove)[];
}

/** A run whose lock is held, read after the lock was taken. */
export interface LockedRun {
  readonly run: RunRow;
  /** The newest attempt of its current step: the open one, when there is one. */
  readonly row: StepRow;
}

/** The run after the change. */
export interface ChangedRun {
  readonly run: RunRow;
  readonly changed: Changed;
}

/**
 * Changes one run: takes its lock, reads it in later statements, lets `decide` say what is to happen, applies that, and has
 * workers told after the commit. `decide` returns null to leave the run as it is.
 *
 * @returns undefined when there is no such run (or, with `ifFree`, when somebody holds it), null when `decide` did
 */
export async function changeRun(
  transaction: Transaction,
  id: string,
  decide: (locked: LockedRun) => Move | null | Promise<Move | null>,
  { lockTimeout, ifFree = false }: { lockTimeout?: number; ifFree?: boolean } = {},
): Promise<ChangedRun | null | undefined> {
  const { connection } = transaction;
  const run = ifFree ? await lockRunIfFree(connection, id) : await lockRun(connection, id, lockTimeout);
  if (!run) return undefined;
  const row = await currentRow(connection, run);
  if (!row)
    throw new Error(
      `Workflow ${id} has no attempt of its current step "${run.current_step}": somebody edited or deleted rows. The health check names such runs; ` +
        'mend its rows by SQL, or delete the run.',
    );
  const move = await decide({ run, row });
  return move && applyMove(transaction, run, move);
}

/** Applies a move to a run whose lock is held. */
export async function applyMove(transaction: Transaction, run: RunRow, move: Move): Promise<ChangedRun> {
  assertPath(move);
  const changed = await applyChange(transaction.connection, move);
  if (changed.dueIn !== null) {
    transaction.announce({ kind: 'due', queue: changed.queue!, priority: changed.priority!, dueIn: changed.dueIn });
  }
  if (move.close?.from === 'in_progress' && move.close.to === 'cancelled') {
    transaction.announce({ kind: 'cancelled', stepId: move.close.id });
  }
  transaction.afterCommit(() => tellChange(run, move, changed.closed));
  return {
    run: { ...run, status: move.run.to, current_step: move.open?.schedule.step ?? run.current_step },
    changed,
  };
}

/** Holds a move to the transition table: it starts where its first row may, goes on where the one before may end, and ends where its last may. */
function assertPath({ path, run }: Move): void {
  let at: readonly RunStatus[] = [run.from];
  for (const name of path) {
    if (!at.some((status) => isLegal(name, status))) throw illegal(path, run);
    at = transition(name).to;
  }
  if (!at.includes(run.to)) throw illegal(path, run);
}

function illegal(path: Move['path'], run: Move['run']): Error {
  return new Error(
    `The transition table has no way ${path.join(' -> ')} from ${run.from} to ${run.to} (workflow ${run.id})`,
  );
}
