// @ts-check
// How errors and logs read in ours.

/** @param {string} text */
export const indent = (text) => text.trimEnd().replace(/^/gm, '    ');

/** @param {unknown} error */
export const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);

/**
 * A refused connection is an AggregateError without a message of its own.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function messageOf(error) {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message || String(codeOf(error)) : String(error);
}
