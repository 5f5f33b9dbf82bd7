const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'short' });
const CLOCK = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** `3 min. ago`, `in 2 days`. */
export function relative(at: number, now: number): string {
  const distance = at - now;
  const [unit, size] = UNITS.find(([, ms]) => Math.abs(distance) >= ms) ?? UNITS[3];
  return RELATIVE.format(Math.round(distance / size), unit);
}

/** The moment in the reader's own zone, which it names. */
export function absolute(at: string): string {
  return ABSOLUTE.format(new Date(at));
}

/** Day and time of day in the reader's own zone. */
export function clockTime(at: string): string {
  return CLOCK.format(new Date(at));
}
