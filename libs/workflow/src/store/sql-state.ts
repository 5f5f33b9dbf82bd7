/** Deadlock, serialization failure: the transaction may be run again whole. */
const CONFLICTS = ['40P01', '40001'];
/** A prepared statement was not there, or was there already: behind a transaction pooler, it was prepared on another of its connections. */
const OF_STATEMENT_NAMES = ['26000', '42P05'];
/** A statement before this one failed in the same transaction. */
const IN_FAILED_TRANSACTION = '25P02';
/** How deep an application wraps the database's error in errors of its own. */
const MAX_CAUSES = 10;

/** The SQLSTATE of a database error; undefined for anything else, a lost connection too. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = read(error, 'code');
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * The transaction may be run again whole: a deadlock, a serialization failure, or a prepared statement that was not there (from then on they are
 * sent without names). Also as the cause of what was thrown.
 */
export function isRetryable(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && at != null; depth += 1) {
    if (isOf(at, CONFLICTS) || isOfStatementName(at)) return true;
    at = read(at, 'cause');
  }
  return false;
}

/** It was not executed, because of the name that it was prepared under. */
export function isOfStatementName(error: unknown): boolean {
  return isOf(error, OF_STATEMENT_NAMES);
}

/** A statement before this one failed in the same transaction, and somebody swallowed that. */
export function isAborted(error: unknown): boolean {
  return sqlStateOf(error) === IN_FAILED_TRANSACTION;
}

function isOf(error: unknown, states: readonly string[]): boolean {
  return states.includes(sqlStateOf(error) ?? '');
}

/** Anything can be thrown, also what throws when it is looked at. */
function read(thrown: unknown, key: string): unknown {
  try {
    return (thrown as Record<string, unknown> | null | undefined)?.[key];
  } catch {
    return undefined;
  }
}
