import { Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';

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

/** With keys too, and by a finger. */
const EVENTS = { hover: true, focus: true, touch: true };

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

interface MomentProps {
  readonly at: string | null;
  /** Shows the clock, for what is read by the order of its moments. */
  readonly clock?: boolean;
}

/** A moment: how long ago or ahead, and exactly when on hover and for screen readers. */
export function Moment({ at, clock = false }: MomentProps) {
  const now = useNow();
  if (at === null) return '–';
  const distance = relative(Date.parse(at), now);
  const exactly = absolute(at);
  return (
    <Tooltip label={clock ? `${exactly}, ${distance}` : exactly} events={EVENTS}>
      <time dateTime={at} tabIndex={0} aria-label={`${distance}, ${exactly}`} style={{ whiteSpace: 'nowrap' }}>
        {clock ? CLOCK.format(new Date(at)) : distance}
      </time>
    </Tooltip>
  );
}

/** Now, again and again while the page is visible. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
