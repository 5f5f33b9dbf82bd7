import type { EntityManager } from 'typeorm';
import { PayloadValidationError } from '../errors.js';
import { assertKey, blankToNull } from '../model/names.js';
import type { RunStatus } from '../model/states.js';

/** Who does it and why: stands on the audit trail. */
export interface By {
  /** At most 255 characters. Default `app`. */
  readonly actor?: string;
  /** Optional; a blank one is none. */
  readonly reason?: string;
}

/** Options that every verb takes. */
export interface VerbOptions extends By {
  /** Join this transaction: the verb takes effect, and wakes workers, when it commits. */
  readonly manager?: EntityManager;
  /** Milliseconds to wait for whoever holds the run, at most; then `LockTimeoutError`. Default: as long as it takes. */
  readonly lockTimeout?: number;
}

/** How REST and MCP call a verb: for a run as somebody saw it, or not at all. */
export interface ExpectingOptions extends VerbOptions {
  /** The status that the run has to have once its lock is held; else `InvalidTransitionError`, and nothing is done. */
  readonly expectedStatus?: RunStatus | undefined;
}

/** As it is written on events. */
export interface Author {
  readonly actor: string;
  readonly reason: string | null;
}

/** The worker, the sweep, and what body verbs, guards and policies cause. */
export const SYSTEM: Author = { actor: 'system', reason: null };

/** @throws {PayloadValidationError} for a `lockTimeout` that is no length of time */
export function lockTimeoutOf({ lockTimeout }: VerbOptions): number | undefined {
  if (lockTimeout === undefined) return undefined;
  if (Number.isFinite(lockTimeout) && lockTimeout > 0 && lockTimeout <= MAX_INT4) return lockTimeout;
  throw new PayloadValidationError(
    `"lockTimeout" is ${String(lockTimeout)}; allowed: a number of milliseconds above 0, or nothing, to wait as long as it takes.`,
  );
}

const MAX_INT4 = 2_147_483_647;

/** Checks and completes what the caller gave, before any SQL. */
export function authorOf(by: By | undefined): Author {
  const actor = blankToNull(by?.actor, 'actor') ?? 'app';
  assertKey(actor, 'actor');
  const reason = blankToNull(by?.reason, 'reason');
  return { actor, reason: reason === null ? null : reason.replaceAll('\0', '\uFFFD') };
}
