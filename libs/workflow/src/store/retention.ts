import type { Connection } from './connection.js';
import { statement } from './statement.js';

/** Runs of one page: with all their rows, they go in one statement. */
export const RETENTION_PAGE = 50;

/** A place among the ended runs. */
export interface EndedPlace {
  readonly id: string;
  readonly ended_at: string;
}

/** A run that has ended. */
export interface EndedRun extends EndedPlace {
  /** It was cancelled, and members of its batch are still at work. */
  readonly busy: boolean;
}

/**
 * The page first, then whether members of it are open: asked for in one go, that was a join, which with stale statistics read one table or the other
 * whole. Their status is written so that the index of all open members does not fit.
 */
const ENDED = statement(
  'ended_runs',
  (t) => `
with page as materialized (
  select w.id, w.ended_at from ${t.runs} w
  where w.ended_at is not null and w.ended_at < statement_timestamp() - $2::float8 * interval '1 millisecond'
    and w.workflow_class = any($1::text[]) and (w.ended_at, w.id) > ($3::timestamptz, $4::uuid)
  order by w.ended_at, w.id limit ${RETENTION_PAGE}
)
select p.id, p.ended_at::text as ended_at, member.id is not null as busy
from page p left join lateral (
  select m.id from ${t.steps} m
  where m.workflow_id = p.id and m.parent_step_id is not null and m.status || '' in ('scheduled', 'in_progress') limit 1) member on true
order by p.ended_at, p.id`,
);

const BEFORE_ALL: EndedPlace = { id: '00000000-0000-0000-0000-000000000000', ended_at: '-infinity' };

/**
 * One page of runs of these classes that ended more than `retention` milliseconds ago, oldest first, after the one given.
 */
export function endedRuns(
  connection: Connection,
  workflows: readonly string[],
  retention: number,
  after: EndedPlace | null,
): Promise<EndedRun[]> {
  const { id, ended_at } = after ?? BEFORE_ALL;
  return connection.run(ENDED, [workflows, retention, ended_at, id]);
}

/** Locks the runs, skip locked, and deletes them: steps and signals go with their run, events (which have no foreign key) by name. */
const DELETE = statement(
  'delete_runs',
  (t) => `
with gone as materialized (
  select w.id from ${t.runs} w where w.id = any($1::uuid[]) and w.ended_at is not null order by w.id for update skip locked
), trail as (
  delete from ${t.events} e where e.workflow_id = any(array(select id from gone))
)
delete from ${t.runs} w where w.id = any(array(select id from gone))`,
);

/** Deletes ended runs with all that belongs to them, as far as nobody holds them. */
export async function deleteRuns(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(DELETE, [ids]);
}
