import { MAX_NAME_LENGTH, nameProblem } from '../model/names.js';

/** Reads as "allowed: …". */
export const ALLOWED_NAMES = `text of 1 to ${MAX_NAME_LENGTH} characters, not blank, without a NUL character or half a surrogate pair`;

/** Whether it may name a class, a step, a queue, a signal or a job. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && nameProblem(value) === null;
}
