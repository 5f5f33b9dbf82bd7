import { Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'short' });
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

/** A moment: how long ago or ahead, and exactly when on hover and for screen readers. */
export function Moment({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return '–';
  const exactly = absolute(at);
  return (
    <Tooltip label={exactly} events={EVENTS}>
      <time dateTime={at} tabIndex={0} aria-label={`${relative(Date.parse(at), now)}, ${exactly}`}>
        {relative(Date.parse(at), now)}
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
