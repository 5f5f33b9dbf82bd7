import { MAX_NAME_LENGTH, nameProblem } from '../model/names.js';

/** Names and keys are stored as text: a NUL cannot be, and longer ones do not belong in an index. */
export const LONGEST_NAME = MAX_NAME_LENGTH;

/** Reads as "allowed: …". */
export const ALLOWED_NAMES = `text of 1 to ${LONGEST_NAME} characters, not blank, without a NUL character or half a surrogate pair`;

/** Whether it may name a class, a step, a queue, a signal or a job. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && nameProblem(value) === null;
}
