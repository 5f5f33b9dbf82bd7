import { useEffect, useRef } from 'react';

/** What was there keeps its order; what is new comes after it. */
function steady<Item>(items: readonly Item[], idOf: (item: Item) => string, before: readonly string[]): Item[] {
  const places = new Map(before.map((id, place) => [id, place]));
  const placeOf = (item: Item) => places.get(idOf(item)) ?? before.length;
  // The sort is stable: new ones stay in the order in which they came.
  return items.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/**
 * Rows in an order that does not change under somebody's hands: while `held`, a refresh only adds and takes away.
 *
 * @param as what the order was asked for by: another one is followed at once
 */
export function useSteadyOrder<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  held: boolean,
  as: string,
): readonly Item[] {
  const shown = useRef<{ ids: readonly string[]; as: string }>({ ids: [], as });
  const ordered = held && shown.current.as === as ? steady(items, idOf, shown.current.ids) : items;
  useEffect(() => {
    shown.current = { ids: ordered.map(idOf), as };
  });
  return ordered;
}
