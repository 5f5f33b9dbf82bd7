import { Tooltip } from '@mantine/core';
import { useEffect, useRef, useState, type RefObject } from 'react';
import { absolute, clockTime, relative } from './moment-text';
import { onTick } from './tick';

interface MomentProps {
  readonly at: string | null;
  /** Shows the clock, for what is read by the order of its moments. */
  readonly clock?: boolean;
}

/** A moment: how long ago or ahead, and exactly when on hover, on focus and for screen readers. */
export function Moment({ at, clock = false }: MomentProps) {
  return at === null ? '–' : <Time key={at} at={at} clock={clock} />;
}

/** There may be hundreds of it on a page: it is drawn again only when it says something else, and what it tells on demand is made on demand. */
function Time({ at, clock }: { readonly at: string; readonly clock: boolean }) {
  const time = useRef<HTMLTimeElement>(null);
  const [isTold, setTold] = useState(false);
  const distance = useDistance(Date.parse(at));
  const exactly = absolute(at);
  const tell = () => setTold(true);
  const hush = () => setTold(false);
  return (
    <>
      <time
        ref={time}
        dateTime={at}
        tabIndex={0}
        aria-label={`${distance}, ${exactly}`}
        style={{ whiteSpace: 'nowrap' }}
        onPointerEnter={tell}
        onPointerLeave={hush}
        onFocus={tell}
        onBlur={hush}
      >
        {clock ? clockTime(at) : distance}
      </time>
      {isTold && <Exactly of={time} says={clock ? `${exactly}, ${distance}` : exactly} close={hush} />}
    </>
  );
}

interface ExactlyProps {
  readonly of: RefObject<HTMLElement | null>;
  readonly says: string;
  readonly close: () => void;
}

function Exactly({ of, says, close }: ExactlyProps) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  });
  return <Tooltip opened target={of} label={says} />;
}

/** How long ago or ahead, again and again. */
function useDistance(at: number): string {
  const [distance, setDistance] = useState(() => relative(at, Date.now()));
  useEffect(() => onTick(() => setDistance(relative(at, Date.now()))), [at]);
  return distance;
}
