import { useDeferredValue } from 'react';

/** About what fits on a large screen. */
const FIRST = 25;

/** Those that are seen at once, and then all: a long list is made in the background, so that the page is there and answers meanwhile. */
export function useFirstThenAll<Item>(all: readonly Item[]): readonly Item[] {
  return useDeferredValue(all, all.length > FIRST ? all.slice(0, FIRST) : all);
}
