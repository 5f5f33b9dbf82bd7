import { useState } from 'react';
import type { Stretch } from './spans';

const NARROWEST_MS = 20;

export interface Zoom {
  /** What is in view. */
  readonly view: Stretch;
  readonly isZoomed: boolean;
  /** More than 1: closer. `at`: the moment that stays where it is; default: the middle. */
  readonly zoom: (factor: number, at?: number) => void;
  /** By a part of what is in view; more than 0: later. */
  readonly pan: (part: number) => void;
  readonly reset: () => void;
}

/** What of the whole is in view. Until somebody zooms that is all of it, however it grows. */
export function useZoom(whole: Stretch): Zoom {
  const [chosen, setChosen] = useState<Stretch | null>(null);
  const view = chosen ?? whole;
  const show = (next: Stretch) => {
    const length = next.to - next.from;
    if (length >= whole.to - whole.from) return setChosen(null);
    const from = Math.min(Math.max(next.from, whole.from), whole.to - length);
    setChosen({ from, to: from + length });
  };
  return {
    view,
    isZoomed: chosen !== null,
    zoom: (factor, at = (view.from + view.to) / 2) => {
      const length = Math.max(NARROWEST_MS, (view.to - view.from) / factor);
      const from = at - ((at - view.from) / (view.to - view.from)) * length;
      show({ from, to: from + length });
    },
    pan: (part) => {
      const by = (view.to - view.from) * part;
      show({ from: view.from + by, to: view.to + by });
    },
    reset: () => setChosen(null),
  };
}
