import { setTimeout as sleep } from 'node:timers/promises';
import { sqlStateOf } from '../store/database.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Shutting down, out of connections or memory, cannot connect now: the next try may find the server in order. */
const PASSING_CLASSES = new Set(['08', '53', '57', '58']);
/** A transaction that may only read: the server is a standby that is about to be promoted. */
const READ_ONLY = '25006';

/**
 * Whether the database, and not what we asked of it, is the trouble: no answer with an SQLSTATE at all, or one of the
 * classes that pass.
 */
function isPassing(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state === undefined) return isOfConnection(error);
  return state === READ_ONLY || PASSING_CLASSES.has(state.slice(0, 2));
}

function isOfConnection(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return true;
  return error instanceof Error && /connection|terminat|timeout exceeded/i.test(error.message);
}

/**
 * Tries until the database answers: what an attempt came to must not be lost because the server is away for a minute. Gives up when the
 * application has closed: then nobody will open a connection again.
 */
export async function patiently<T>(database: { readonly released: boolean }, ask: () => Promise<T>): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) || database.released) throw error;
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }
}
