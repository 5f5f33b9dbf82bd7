import { badOption, unknownOption, type Place } from './definition-error.js';

/** What options are written on: where, under which option if they are nested, and what to call their bearer. */
export interface OptionsOf {
  readonly place: Place;
  /** `jobOptions`; absent for the options of a decorator itself. */
  readonly path?: string;
  /** `a step`, `a policy`. */
  readonly bearer: string;
}

/** The name of an option as messages give it: `wait`, `jobOptions.wait`. */
export function optionName(path: string | undefined, key: string): string {
  return path === undefined ? key : `${path}.${key}`;
}

/** The options as an object that has no other keys than these. A key whose value is undefined counts as not given. */
export function checkKeys<K extends string>(
  value: unknown,
  allowed: readonly K[],
  { place, path, bearer }: OptionsOf,
): Partial<Record<K, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badOption(place, path ?? 'options', value, `an object with any of ${allowed.join(', ')}`);
  }
  for (const [key, given] of Object.entries(value)) {
    if (!(allowed as readonly string[]).includes(key)) {
      throw unknownOption(place, optionName(path, key), given, bearer, allowed);
    }
  }
  return value;
}

/** The value, if it is one of these; `byDefault` when it is not given. */
export function checkOneOf<V extends string>(
  value: unknown,
  allowed: readonly V[],
  byDefault: V,
  place: Place,
  option: string,
): V {
  if (value === undefined) return byDefault;
  if (!(allowed as readonly unknown[]).includes(value)) throw badOption(place, option, value, allowed);
  return value as V;
}
