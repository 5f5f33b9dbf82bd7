import ms from 'ms';

type Unit =
  | 'years' | 'year' | 'yrs' | 'yr' | 'y'
  | 'weeks' | 'week' | 'w'
  | 'days' | 'day' | 'd'
  | 'hours' | 'hour' | 'hrs' | 'hr' | 'h'
  | 'minutes' | 'minute' | 'mins' | 'min' | 'm'
  | 'seconds' | 'second' | 'secs' | 'sec' | 's'
  | 'milliseconds' | 'millisecond' | 'msecs' | 'msec' | 'ms'; // prettier-ignore

/** A length of time as text of the `ms` package: `'2 days'`, `'15s'`, `'1.5h'`. */
export type DurationText = `${number}` | `${number}${Unit}` | `${number} ${Unit}`;

/**
 * A length of time: a number of milliseconds, or text of the `ms` package. Longest: 1,000 years.
 *
 * @example
 * ```ts
 * @Step({ wait: '2 days', timeout: 30_000 })
 * ```
 */
export type Duration = number | DurationText;

/** Says what would have been a right duration, for an error's "allowed". */
export interface DurationProblem {
  readonly problem: string;
}

/** As `min`: any length but none at all. */
export const MORE_THAN_ZERO = Number.MIN_VALUE;

/** Beyond this a due time leaves the years that PostgreSQL and JavaScript both can write. */
const LONGEST = 1_000 * 365.25 * 24 * 60 * 60 * 1_000;

/**
 * The duration in milliseconds, or what is wrong with it. Numbers stay exactly as they are.
 *
 * @param options.min the shortest one allowed, in milliseconds; default 0
 * @example
 * ```ts
 * parseDuration('2 days'); // 172800000
 * parseDuration(0, { min: MORE_THAN_ZERO }); // { problem: 'a duration of more than 0, …' }
 * ```
 */
export function parseDuration(value: unknown, options: { min?: number } = {}): number | DurationProblem {
  const min = options.min ?? 0;
  const duration = milliseconds(value);
  // A comparison with NaN is false, so it ends as a problem.
  return duration >= min && duration <= LONGEST ? duration : { problem: allowedDurations(min) };
}

/** Reads as "allowed: …". */
export function allowedDurations(min = 0): string {
  const shortest = min === 0 ? '0 or more' : min === MORE_THAN_ZERO ? 'more than 0' : `${min} ms or more`;
  return `a duration of ${shortest}, in milliseconds or as text like "2 days" or "15s", of at most 1,000 years`;
}

function milliseconds(value: unknown): number {
  if (typeof value === 'number') return value;
  // The package throws on an empty string and answers undefined to text that is no duration.
  if (typeof value === 'string' && value !== '') return ms(value as ms.StringValue) ?? NaN;
  return NaN;
}
