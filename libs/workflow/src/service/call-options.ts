import { PayloadValidationError } from '../errors.js';

export const VERB_KEYS = ['actor', 'reason', 'manager', 'lockTimeout'] as const;
export const SIGNAL_KEYS = [...VERB_KEYS, 'idempotencyKey'] as const;
export const START_KEYS = ['subject', 'args', 'idempotencyKey', 'actor', 'reason'] as const;
export const READ_KEYS = ['manager'] as const;

/**
 * The options of a call, none when they were left out. A misspelt one must not be dropped in silence: `idempotencykey` would start
 * a second run.
 *
 * @param call names it in the error: `'pause'`
 * @throws {PayloadValidationError} for what is no object, or has a key that the call does not know
 */
export function callOptions<Options extends object>(
  given: Options | undefined,
  keys: readonly (keyof Options & string)[],
  call: string,
): Partial<Options> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new PayloadValidationError(
      `${call} takes an object of options ({ ${keys.join(', ')} }), not ${shown(given)}.`,
    );
  }
  const unknown = Object.keys(given).find((key) => !(keys as readonly string[]).includes(key));
  if (unknown === undefined) return given;
  throw new PayloadValidationError(`${call} has no option "${unknown}"; it takes: ${keys.join(', ')}.`);
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 50));
  return Array.isArray(value) ? 'a list' : typeof value;
}
