/**
 * p50, p95 and p99 by nearest rank: so many of a hundred took no longer. Each is a duration that occurred; whole numbers sort faster than the floating-point ones
 * which an interpolation would need.
 */
export const PERCENTILES = 'percentile_disc(array[0.5, 0.95, 0.99]) within group';

/**
 * From one moment to a later one, as a whole number of microseconds; below 0 when the database's clock was set back in between. By the function that measures ranges
 * of moments: it subtracts two numbers, where an interval and the reading of its epoch cost ten times as much, which shows at a million rows.
 */
export function microseconds(from: string, to: string): string {
  return `(tstzrange_subdiff(${to}, ${from}) * 1000000)::bigint`;
}
