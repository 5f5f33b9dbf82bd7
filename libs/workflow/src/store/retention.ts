import type { Connection } from './connection.js';
import { statement } from './statement.js';

/** Runs of one page: with all their rows, they go in one statement. */
const PAGE = 50;

/**
 * Locks ended runs, skip locked, and deletes them: steps and signals go with their run, events (which have no foreign key) by name. A cancelled run whose
 * members are still at work stays until they have ended.
 */
const DELETE = statement(
  'delete_ended',
  (t) => `
with old as materialized (
  select w.id from ${t.runs} w
  where w.ended_at is not null and w.ended_at < statement_timestamp() - $2::float8 * interval '1 millisecond'
    and w.workflow_class = any($1::text[])
    and not exists (select from ${t.steps} m
      where m.workflow_id = w.id and m.parent_step_id is not null and m.status in ('scheduled', 'in_progress'))
  order by w.ended_at limit ${PAGE} for update skip locked
), trail as (
  delete from ${t.events} e where e.workflow_id = any(array(select id from old))
), runs as (
  delete from ${t.runs} w where w.id = any(array(select id from old)) and w.ended_at is not null returning w.id
)
select count(*)::int as runs from runs`,
);

/** Deletes one page of runs of these classes that ended more than `retention` milliseconds ago; returns how many. */
export async function deleteEnded(
  connection: Connection,
  workflows: readonly string[],
  retention: number,
): Promise<number> {
  const [row] = await connection.run<{ runs: number }>(DELETE, [workflows, retention]);
  return row!.runs;
}
