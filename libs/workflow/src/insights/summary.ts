import type { Connection } from '../store/connection.js';
import { laneWalk } from '../store/lane-walk.js';
import type { InsightsParts } from './insights.parts.js';
import { runCounts, type OngoingStatus, type RunCount } from './run-counts.js';
import { readSnapshot } from './snapshot.js';
import { STUCK_REASONS, stuckParameters, stuckRuns, type StuckReason } from './stuck.js';
import type { QueueView, SummaryView } from './views.js';
import { workersOf } from './workers.js';

/**
 * Reads how things stand as a whole.
 *
 * @example
 * ```ts
 * const { ongoing, stuck, queues } = await new SummaryReads({ database, registry, settings }).summary();
 * ```
 */
export class SummaryReads {
  constructor(private readonly parts: InsightsParts) {}

  /** All as of one moment. */
  summary(): Promise<SummaryView> {
    return readSnapshot(this.parts.database, async (connection) => {
      const byStatus = summed(await runCounts(connection));
      const byReason = counted(STUCK_REASONS, await this.reasons(connection));
      const queues = await queuesOf(connection);
      return {
        ongoing: sum(byStatus),
        by_status: byStatus,
        stuck: sum(byReason),
        by_reason: byReason,
        queues,
        oldest_due_step_seconds: Math.max(0, ...queues.map(({ oldest_due_seconds: seconds }) => seconds)),
        workers: await workersOf(connection),
      };
    });
  }

  private reasons(connection: Connection): Promise<Counted<StuckReason>[]> {
    return connection.ask(
      (t) => `select stuck.reason as key, count(*)::int as runs from (${stuckRuns(t, 1)}) stuck group by stuck.reason`,
      stuckParameters(this.parts.settings),
    );
  }
}

interface Counted<Key> {
  readonly key: Key;
  readonly runs: number;
}

function summed(classes: readonly RunCount[]): SummaryView['by_status'] {
  const runs = (status: OngoingStatus) => classes.reduce((total, one) => total + one[status], 0);
  return { ready: runs('ready'), performing: runs('performing'), waiting: runs('waiting'), paused: runs('paused') };
}

/** Lane by lane, and of each only the rows that are due: however many lie in the future, they are not read. */
export function queuesOf(connection: Connection): Promise<QueueView[]> {
  return connection.ask(
    (t) => `with recursive ${laneWalk(t)}
select lane.queue, sum(due.depth)::int as depth,
       coalesce(max(extract(epoch from statement_timestamp() - due.oldest)), 0)::float8 as oldest_due_seconds
from lane cross join lateral (
  select count(*) as depth, min(s.available_at) as oldest from ${t.steps} s
  where s.status = 'scheduled' and s.available_at is not null and s.queue = lane.queue and s.priority = lane.priority
    and s.available_at <= statement_timestamp()) due
group by lane.queue order by lane.queue`,
    [],
  );
}

/** Each key with its number, 0 for what was not counted. */
function counted<Key extends string>(keys: readonly Key[], rows: readonly Counted<Key>[]): Record<Key, number> {
  const runs = new Map(rows.map((row) => [row.key, row.runs]));
  return Object.fromEntries(keys.map((key) => [key, runs.get(key) ?? 0])) as Record<Key, number>;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
