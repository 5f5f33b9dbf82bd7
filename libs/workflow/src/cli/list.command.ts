import { checkRunFilter, type RunFilter } from '../insights/run-filter.js';
import { agoText } from '../insights/time-text.js';
import type { RunSummary } from '../insights/views.js';
import { EXIT, UsageError } from './exit.js';
import { FILTERS } from './options.js';
import { oneLine, table } from './output.js';
import type { Prepare, Session } from './session.js';

const BY_DEFAULT = 50;
const MOST = 10_000;
/** What a page of the reads holds at most. */
const PAGE = 200;

/** `list`: runs that fit, newest first. */
export const list: Prepare = ({ texts }) => {
  const filter = filterOf(texts);
  checkRunFilter(filter);
  const limit = limitOf(texts);
  return async ({ out, reads, json }) => {
    const { runs, next_cursor } = await readPages(reads, filter, limit, texts.get('cursor'));
    if (json) {
      await out.json({ runs, next_cursor });
      return EXIT.fine;
    }
    if (runs.length === 0) {
      await out.line('No run fits. (Without --state only ongoing ones are listed.)');
      return EXIT.fine;
    }
    const now = new Date();
    const rows = [HEADINGS, ...runs.map((run) => rowOf(run, now))];
    const [headings = [], ...cells] = columnsThatFit(rows, out.columns);
    const lines = table(headings, cells, out.columns);
    for (const [index, line] of lines.entries()) await out.line(index === 0 ? out.paint('bold', line) : line);
    if (next_cursor !== null) {
      await out.line();
      await out.line(
        `There are more than these ${runs.length}: --limit shows up to ${MOST}, --cursor ${next_cursor} goes on here.`,
      );
    }
    return EXIT.fine;
  };
};

const HEADINGS = ['ID', 'CLASS', 'SUBJECT', 'STATUS', 'STUCK', 'CREATED', 'NOW'];
/** What a narrow terminal does without, first to last: NOW tells most of it. */
const SPARED = ['CREATED', 'SUBJECT', 'STUCK', 'STATUS'];
/** What NOW needs to say something. */
const NOW_WIDTH = 24;

/** Leaves columns out until there is room for the last one. */
export function columnsThatFit(rows: readonly string[][], width: number | undefined): string[][] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => oneLine(row[column]!).length)));
  const shown = new Set(HEADINGS);
  const needed = () =>
    HEADINGS.reduce((sum, name, at) => sum + (shown.has(name) && name !== 'NOW' ? widths[at]! + 2 : 0), NOW_WIDTH);
  for (const name of SPARED) if (width !== undefined && needed() > width) shown.delete(name);
  return rows.map((row) => row.filter((_, column) => shown.has(HEADINGS[column]!)));
}

async function readPages(reads: Session['reads'], filter: RunFilter, limit: number, from: string | undefined) {
  const runs: RunSummary[] = [];
  let cursor = from;
  for (;;) {
    const page = await reads.list(filter, {
      ...(cursor !== undefined && { cursor }),
      limit: Math.min(PAGE, limit - runs.length),
    });
    runs.push(...page.runs);
    if (page.next_cursor === null || runs.length >= limit) return { runs, next_cursor: page.next_cursor };
    cursor = page.next_cursor;
  }
}

/** The filters by the names that reads have. */
function filterOf(texts: ReadonlyMap<string, string>): RunFilter {
  return Object.fromEntries(
    Object.keys(FILTERS).flatMap((name) => {
      const value = texts.get(name);
      return value === undefined ? [] : [[name.replaceAll('-', '_'), value]];
    }),
  );
}

function limitOf(texts: ReadonlyMap<string, string>): number {
  const given = texts.get('limit');
  if (given === undefined) return BY_DEFAULT;
  const limit = /^\d{1,6}$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= MOST) return limit;
  throw new UsageError(`--limit is "${given}"; allowed: a whole number from 1 to ${MOST}.`);
}

function rowOf(
  { id, class: name, subject, status, stuck_reason, created_at, now: does }: RunSummary,
  now: Date,
): string[] {
  return [
    id,
    name,
    subject ? `${subject.type} ${subject.id}` : '-',
    status,
    stuck_reason ?? '-',
    agoText(new Date(created_at), now),
    does,
  ];
}
