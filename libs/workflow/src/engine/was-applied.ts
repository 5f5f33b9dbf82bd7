import { attemptEnd } from '../store/attempts.js';
import type { Connection } from '../store/connection.js';
import type { Outcome } from '../transition/outcomes.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import { expectedEnd, tellEnd } from './expected-end.js';

/**
 * Whether an outcome that we sent, and whose answer was lost, is the one that is stored: the row is ours by its claim's number, and ended as we would have
 * ended it. Only then is "it is no longer in progress" not "it came too late".
 *
 * An outside `cancel` and a body's look alike here; nothing is lost by taking the one for the other.
 */
export async function wasApplied(connection: Connection, { row, batch }: Attempt, outcome: Outcome): Promise<boolean> {
  const stored = await attemptEnd(connection, row.id);
  if (!stored || stored.claim_no !== row.claimNo) return false;
  if (batch && outcome.kind === 'completed') return stored.batch_size !== null || stored.outcome === 'completed';
  return (
    stored.outcome === outcome.kind &&
    stored.error_class === (outcome.error?.class ?? null) &&
    stored.error_message === (outcome.error?.message ?? null)
  );
}

/** Tells of an outcome that turned out to be stored: what was to follow its commit was lost with the answer. */
export function tellApplied(parts: EngineParts, attempt: Attempt, outcome: Outcome): void {
  // A fan-out's body returned: its step goes on.
  if (attempt.batch && outcome.kind === 'completed') return;
  tellEnd(attempt, expectedEnd(parts, attempt, outcome));
}
