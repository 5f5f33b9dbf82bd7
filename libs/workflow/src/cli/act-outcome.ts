import { sqlStateOf } from '../store/sql-state.js';
import { CliError, EXIT } from './exit.js';
import { messageOf } from './failure.js';

/** What the database answers about its connection, or about a commit of which it does not know: all else that it refuses, it has not done. */
const OF_CONNECTION = /^(?:08|57P|40003)/;
/** `EPIPE` looks like one. */
const SQL_STATE = /^(?:\d|F0|HV|P0|XX)/;

/** A verb that ended in an error which is none of this package's. */
export function outcomeOf(error: unknown, id: string): CliError {
  const state = sqlStateOf(error) ?? '';
  if (!SQL_STATE.test(state) || OF_CONNECTION.test(state)) return unknownOutcome(messageOf(error), id, error);
  const message = `The database refused it: ${messageOf(error)} (SQLSTATE ${state}). Nothing was done.`;
  return new CliError('DATABASE_REFUSED', message, EXIT.unable, { cause: error });
}

/** The connection was lost, say: what was asked may have been carried out. */
export function unknownOutcome(problem: string, id: string, cause?: unknown): CliError {
  return new CliError(
    'UNKNOWN_OUTCOME',
    `${problem}. Whether it was done is not known: look with "show ${id}" before you try again.`,
    EXIT.unable,
    { cause },
  );
}
