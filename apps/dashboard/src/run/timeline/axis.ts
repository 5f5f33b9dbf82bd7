import type { Stretch } from './spans';

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
const STEPS = [
  ...[1, 10, 100].flatMap((n) => [n, 2 * n, 5 * n]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** At most so many round moments of the reader's zone, evenly over the stretch. */
export function ticksOf({ from, to }: Stretch, most: number): Tick[] {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? STEPS.at(-1)!;
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  const write = new Intl.DateTimeFormat(undefined, formOf(step, to - from));
  const ticks: Tick[] = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) {
    ticks.push({ at, label: write.format(at) });
  }
  return ticks;
}

function formOf(step: number, length: number): Intl.DateTimeFormatOptions {
  if (step >= DAY) return { day: 'numeric', month: 'short', ...(length > 300 * DAY && { year: 'numeric' }) };
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  if (step < SECOND) return { ...time, second: '2-digit', fractionalSecondDigits: 3 };
  if (step < MINUTE) return { ...time, second: '2-digit' };
  return length > DAY / 2 ? { ...time, day: 'numeric', month: 'short' } : time;
}
