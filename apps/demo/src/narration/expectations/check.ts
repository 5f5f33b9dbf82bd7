/** Something that has to be true when the demonstration is over. */
export interface Check {
  readonly what: string;
  readonly holds: boolean;
  /** What was found, for when it does not hold. */
  readonly found: unknown;
}

/** Compares as JSON: numbers, texts, lists. */
export function same(what: string, found: unknown, expected: unknown): Check {
  const holds = JSON.stringify(found) === JSON.stringify(expected);
  return { what, holds, found: holds ? found : { found, expected } };
}
