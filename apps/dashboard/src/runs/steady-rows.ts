import { useLayoutEffect, useState, type RefObject } from 'react';
import type { RunPage } from '../api/queries';
import type { ListedRun } from '../api/types';

/** A run that is shown, and whether the list still has it. */
export interface SteadyRow extends ListedRun {
  readonly hasLeft: boolean;
}

/**
 * The rows of a page that is read again and again. While somebody is at the list (it has the focus, or is scrolled into), rows stay where they are and
 * change in place; what is new waits until it is asked for.
 *
 * @param key which list it is; another one is shown as it comes
 */
export function useSteadyRows(page: RunPage | undefined, key: string, list: RefObject<HTMLElement | null>) {
  const [{ rows, of }, setShown] = useState<Shown>({ rows: [], of: null });

  useLayoutEffect(() => {
    if (page === undefined) return;
    setShown((before) => {
      const isHeld = before.of === key && before.rows.length > 0 && isInUse(list.current);
      return { of: key, rows: isHeld ? updated(before.rows, page) : asRows(page) };
    });
  }, [page, key, list]);

  const shown = new Set(rows.map(({ id }) => id));
  const news = page && of === key && rows.length > 0 ? page.runs.filter(({ id }) => !shown.has(id)).length : 0;
  return { rows, of, news, showNews: () => page && setShown({ of: key, rows: asRows(page) }) };
}

interface Shown {
  readonly rows: readonly SteadyRow[];
  /** The list that they are of; null: none was read yet. */
  readonly of: string | null;
}

function isInUse(list: HTMLElement | null): boolean {
  if (list === null) return false;
  return list.contains(document.activeElement) || list.getBoundingClientRect().top < 0;
}

const listed = new WeakMap<ListedRun, SteadyRow>();

/** The same row for the same run: what has not changed is not drawn again. */
function asRow(run: ListedRun): SteadyRow {
  const row = listed.get(run) ?? { ...run, hasLeft: false };
  listed.set(run, row);
  return row;
}

function asRows({ runs }: RunPage): SteadyRow[] {
  return runs.map(asRow);
}

function updated(rows: readonly SteadyRow[], { runs, next_cursor }: RunPage): SteadyRow[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const last = runs.at(-1);
  return rows.map((row) => {
    const fresh = byId.get(row.id);
    if (fresh) return asRow(fresh);
    // What newer runs have pushed to the next page is still in the list.
    const isOnNextPage = next_cursor !== null && last !== undefined && row.created_at <= last.created_at;
    return isOnNextPage ? row : { ...row, hasLeft: true };
  });
}
