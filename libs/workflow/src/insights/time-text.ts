const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A length of time as a person reads it, by its two largest units; cut, not rounded, so that nothing is told before its time.
 *
 * @param ms milliseconds; less than none is none
 * @example
 * ```ts
 * durationText(8); // '8ms'
 * durationText(1_234); // '1.2s'
 * durationText(7_500_000); // '2h 5m'
 * ```
 */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.floor(ms));
  if (whole < SECOND) return `${whole}ms`;
  if (whole < 10 * SECOND) return `${Math.floor(whole / 100) / 10}s`;
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)}s`;
  if (whole < HOUR) return two(whole, MINUTE, 'm', SECOND, 's');
  if (whole < DAY) return two(whole, HOUR, 'h', MINUTE, 'm');
  return two(whole, DAY, 'd', HOUR, 'h');
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeName}${rest ? ` ${rest}${smallName}` : ''}`;
}

/** A moment in UTC, without its date when that is today's: `14:02 UTC`, `2026-01-31 14:02 UTC`. */
export function momentText(at: Date, now: Date): string {
  const [date, time] = at.toISOString().split('T') as [string, string];
  const clock = `${time.slice(0, 5)} UTC`;
  return now.toISOString().startsWith(date) ? clock : `${date} ${clock}`;
}

/** `14:02 UTC (2h 5m ago)`. */
export function agoText(at: Date, now: Date): string {
  return `${momentText(at, now)} (${durationText(now.getTime() - at.getTime())} ago)`;
}

/** `14:02 UTC (in 5m)`. */
export function aheadText(at: Date, now: Date): string {
  return `${momentText(at, now)} (in ${durationText(at.getTime() - now.getTime())})`;
}
