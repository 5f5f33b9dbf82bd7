import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.js';
import { sqlStateOf } from './sql-state.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Shutting down, out of connections or memory, cannot connect now: the next try may find the server in order. */
const PASSING_CLASSES = new Set(['08', '53', '57', '58']);
/** A transaction that may only read: the server is a standby that is about to be promoted. */
const READ_ONLY = '25006';
/** Somebody revoked a privilege, and will grant it again: what a body came to is not thrown away over it. */
const NOT_ALLOWED = '42501';
/** Somebody holds what we wait for; our own transactions give up after a while, so that a lost connection is noticed. */
const LOCK_TIMEOUT = '55P03';

/**
 * Whether the database, and not what we asked of it, is the trouble: no answer with an SQLSTATE at all, or one of the
 * classes that pass.
 */
export function isPassing(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state === undefined) return isOfConnection(error);
  return [READ_ONLY, NOT_ALLOWED, LOCK_TIMEOUT].includes(state) || PASSING_CLASSES.has(state.slice(0, 2));
}

/** Anything can be thrown, also what throws when it is looked at: that is no trouble of the database's. */
function isOfConnection(error: unknown): boolean {
  try {
    const code = (error as { code?: unknown } | null)?.code;
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return true;
    return (
      error instanceof Error &&
      /connection|terminat|timeout exceeded|query runner already released/i.test(error.message)
    );
  } catch {
    return false;
  }
}

/**
 * Tries until the database answers: what an attempt came to must not be lost because the server is away for a minute. Gives up when the
 * application has closed: then nobody will open a connection again.
 *
 * @param ask told whether it is `doubtful`: a try before this one failed in a way that does not say whether it was carried out
 */
export async function patiently<T>(
  database: { readonly released: boolean },
  ask: (doubtful: boolean) => Promise<T>,
): Promise<T> {
  for (let pause = FIRST_PAUSE_MS, doubtful = false; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS), doubtful = true) {
    try {
      return await ask(doubtful);
    } catch (error) {
      if (!isPassing(error) || database.released) throw error;
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }
}

/**
 * Whether what failed may be tried again because the database was away: then waits until it answers. The application's own code may throw what looks alike:
 * who calls this counts the tries.
 */
export async function outlasted(database: Database, error: unknown): Promise<boolean> {
  if (!isPassing(error) || database.released) return false;
  await patiently(database, () => database.engineConnect((connection) => connection.command('select 1')));
  return true;
}
