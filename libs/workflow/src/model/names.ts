import { PayloadValidationError } from '../errors.js';

/** What the tables' name and key columns hold, in characters. */
export const MAX_NAME_LENGTH = 255;

/**
 * What keeps a text from being a name (class, step, queue, signal, job) or a key (subject type and id, idempotency key,
 * actor), worded to follow the name of the thing: `"is blank"`. Null: nothing does.
 *
 * Asked before any SQL, because PostgreSQL's own refusal of such a text would abort the caller's transaction.
 */
export function nameProblem(value: string): string | null {
  if (value.trim() === '') return 'is blank';
  if (value.includes('\0')) return 'has a NUL character, which PostgreSQL cannot store';
  // Half of a surrogate pair reaches the database as U+FFFD: two different keys would become one.
  if (/\p{Surrogate}/u.test(value)) return 'is not well-formed Unicode';
  const length = lengthOf(value);
  return length > MAX_NAME_LENGTH ? `has ${length} characters, more than the ${MAX_NAME_LENGTH} allowed` : null;
}

/**
 * @param what - names it in the error: `'subject id'`
 * @throws PayloadValidationError when it is no text, or {@link nameProblem} finds something
 */
export function assertKey(value: unknown, what: string): asserts value is string {
  assertText(value, what);
  const problem = nameProblem(value);
  if (problem !== null) throw new PayloadValidationError(`The ${what} ${problem}.`);
}

function assertText(value: unknown, what: string): asserts value is string {
  if (typeof value === 'string') return;
  throw new PayloadValidationError(`The ${what} must be a string, not ${kindOf(value)}.`);
}

/**
 * A key that is missing, empty or only spaces is no key. Any other comes back as it is, spaces around it included.
 *
 * @param what - names it in the error: `'idempotency key'`
 * @throws PayloadValidationError when it is no text
 */
export function blankToNull(key: string | null | undefined, what = 'key'): string | null {
  if (key == null) return null;
  assertText(key, what);
  return key.trim() === '' ? null : key;
}

/** In code points, as PostgreSQL counts; a short text is not taken apart for it. */
function lengthOf(value: string): number {
  return value.length <= MAX_NAME_LENGTH ? value.length : Array.from(value).length;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
