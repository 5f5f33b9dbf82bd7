import { PayloadTooLargeError } from '../errors.js';

/** What a payload is called in errors, and how large it may be. */
export interface PayloadLimit {
  /** `'arguments'`, `'output of step "charge"'`. Its first word starts the paths in errors. */
  readonly what: string;
  /** Bytes of UTF-8 of the stored text. */
  readonly maxBytes: number;
}

/** Counts what a value is sure to take, so that a few objects shared a billion times do not hang the process. */
export interface Meter {
  readonly limit: PayloadLimit;
  bytes: number;
}

/** Well below where V8, superjson or PostgreSQL's JSON parser runs out of stack, well above any honest payload. */
export const MAX_DEPTH = 500;
/** So many times too large, a value is not written out to learn its exact size. */
const HOPELESS = 4;

/**
 * Whether `JSON.stringify` keeps all of the value. The hot path of every start, output and signal: it allocates little,
 * knows no paths and says only yes or no.
 */
export function isPlainJson(value: unknown, meter: Meter, depth = 0): boolean {
  if (typeof value === 'string') {
    meter.bytes += value.length;
    return true;
  }
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value === 'boolean' || value === null) return true;
  return typeof value === 'object' && depth < MAX_DEPTH && isPlainContainer(value, meter, depth + 1);
}

function isPlainContainer(value: object, meter: Meter, depth: number): boolean {
  const isArray = Array.isArray(value);
  if (!(isArray ? hasArrayPrototype(value) : hasObjectPrototype(value))) return false;
  if (hasToJson(value) || Object.getOwnPropertySymbols(value).length > 0) return false;
  const keys = Object.keys(value);
  count(meter, keys.length);
  return isArray ? areItemsPlain(value, keys, meter, depth) : areMembersPlain(value, keys, meter, depth);
}

function areItemsPlain(value: readonly unknown[], keys: readonly string[], meter: Meter, depth: number): boolean {
  // More keys: it has properties that are no items. Fewer: it has holes, as has one that reads as undefined below.
  if (keys.length !== value.length) return false;
  for (let index = 0; index < value.length; index++) if (!isPlainJson(value[index], meter, depth)) return false;
  return true;
}

function areMembersPlain(value: object, keys: readonly string[], meter: Meter, depth: number): boolean {
  for (const key of keys) {
    meter.bytes += key.length;
    if (!isPlainJson((value as Record<string, unknown>)[key], meter, depth)) return false;
  }
  return true;
}

/** An object literal's or none. One from another realm (Jest's, `node:vm`) counts: its data is no different. */
export function hasObjectPrototype(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isForeignRoot(prototype as object);
}

function isForeignRoot(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** True for an array that is no instance of a subclass: of all prototypes, only `Array.prototype` is itself an array. */
export function hasArrayPrototype(value: readonly unknown[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Array.prototype || Array.isArray(prototype);
}

/** `JSON.stringify` would store what that method returns instead of the value. */
export function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

/** Adds to what was counted, and gives up on a value that is hopelessly large. */
export function count(meter: Meter, bytes: number): void {
  meter.bytes += bytes;
  if (meter.bytes > meter.limit.maxBytes * HOPELESS) throw tooLarge(meter.limit, `more than ${meter.bytes}`);
}

/** The error for a payload of so many bytes. */
export function tooLarge({ what, maxBytes }: PayloadLimit, bytes: number | string): PayloadTooLargeError {
  return new PayloadTooLargeError(
    `Cannot store the ${what}: it takes ${bytes} bytes as JSON, and maxPayloadSize allows ${maxBytes}. ` +
      'Store the data elsewhere and pass its id.',
  );
}
