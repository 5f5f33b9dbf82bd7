import { InvalidQueryError } from './query-error.js';

/** Where a page of a list ends. `kind` keeps one list's cursor from another. */
export function encodeCursor(kind: string, ...parts: readonly string[]): string {
  return Buffer.from([kind, ...parts].join(' ')).toString('base64url');
}

/**
 * The parts of a cursor.
 *
 * @param shape what each part has to look like
 * @throws {InvalidQueryError} for one that this list did not give
 */
export function decodeCursor(cursor: unknown, kind: string, shape: readonly RegExp[]): string[] {
  if (typeof cursor === 'string' && cursor.length <= 200) {
    const [given, ...parts] = Buffer.from(cursor, 'base64url').toString().split(' ');
    const fits = given === kind && parts.length === shape.length && shape.every((one, at) => one.test(parts[at]!));
    // Base64 reads past what it does not know: only what it would write itself was given by us.
    if (fits && encodeCursor(kind, ...parts) === cursor) return parts;
  }
  throw new InvalidQueryError(
    'cursor',
    'is none that this list gave: pass "next_cursor" as it was, or none, for the first page.',
  );
}

/**
 * A page's size.
 *
 * @throws {InvalidQueryError} for anything but a whole number within bounds
 */
export function checkLimit(limit: unknown, { byDefault, most }: { byDefault: number; most: number }): number {
  if (limit === undefined) return byDefault;
  if (Number.isSafeInteger(limit) && (limit as number) >= 1 && (limit as number) <= most) return limit as number;
  throw new InvalidQueryError('limit', `has to be a whole number from 1 to ${most}.`);
}
