import { badOption, type Place } from './definition-error.js';
import { allowedDurations, parseDuration, type Duration } from './duration.js';

/**
 * How long to wait before trying again: a duration, or a function of the try's number (1, 2, …) that returns one.
 *
 * @example
 * ```ts
 * wait: (reattempt) => 1_000 * 2 ** reattempt // 2 s, 4 s, 8 s, …
 * ```
 */
export type Backoff = Duration | ((number: number) => Duration);

/** Checked: durations are in milliseconds. */
export type ParsedBackoff = number | ((number: number) => Duration);

export function checkBackoff(value: unknown, byDefault: number, place: Place, option: string): ParsedBackoff {
  if (value === undefined) return byDefault;
  if (typeof value === 'function') return value as (number: number) => Duration;
  const parsed = parseDuration(value);
  if (typeof parsed === 'number') return parsed;
  throw badOption(place, option, value, `${parsed.problem}, or a function that returns one`);
}

/**
 * Milliseconds to wait before try `number`.
 *
 * @throws {WorkflowDefinitionError} when the function returned something else than a duration
 */
export function backoffBefore(number: number, backoff: ParsedBackoff, place: Place, option: string): number {
  if (typeof backoff === 'number') return backoff;
  const returned = backoff(number);
  const parsed = parseDuration(returned);
  if (typeof parsed === 'number') return parsed;
  throw badOption(place, `${option}(${number})`, returned, allowedDurations());
}
