import type { RunStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';
import type { Tables } from '../store/statement.js';

export const ONGOING_STATUSES = ['ready', 'performing', 'waiting', 'paused'] as const satisfies readonly RunStatus[];
export type OngoingStatus = (typeof ONGOING_STATUSES)[number];

/** How many runs of a class are where. */
export type RunCount = Readonly<{ workflow_class: string } & Record<OngoingStatus, number>>;

/**
 * By the indexes of what is open alone: ended runs cost nothing, and neither the runs' nor the steps' rows are read where vacuum has been. No index has the
 * status of a run (its many changes would no longer stay in their page). It goes with that of its open row, and who is neither paused, waiting
 * nor performing is ready.
 */
const RUN_COUNTS = (t: Tables) => `
with ongoing as (
  select workflow_class, count(*) as runs from ${t.runs} where ended_at is null group by workflow_class
), paused as (
  select w.workflow_class, count(*) as runs, count(*) filter (where s.status = 'waiting') as waiting,
         count(*) filter (where s.status = 'in_progress') as performing
  from ${t.runs} w left join ${t.steps} s
    on s.workflow_id = w.id and s.status in ('scheduled', 'waiting', 'in_progress') and s.parent_step_id is null
  where w.paused_at is not null group by w.workflow_class
), signal_waits as (
  select handler, count(*) as runs from ${t.steps} where status = 'waiting' and batch_size is null group by handler
), batch_waits as (
  select handler, count(*) as runs from ${t.steps} where status = 'waiting' and batch_size is not null group by handler
), at_work as (
  select handler, count(*) as runs from ${t.steps} where status = 'in_progress' and parent_step_id is null group by handler
), counted as (
  select o.workflow_class, o.runs, coalesce(p.runs, 0) as paused,
         coalesce(s.runs, 0) + coalesce(b.runs, 0) - coalesce(p.waiting, 0) as waiting,
         coalesce(a.runs, 0) - coalesce(p.performing, 0) as performing
  from ongoing o left join paused p using (workflow_class) left join signal_waits s on s.handler = o.workflow_class
    left join batch_waits b on b.handler = o.workflow_class left join at_work a on a.handler = o.workflow_class
)
select workflow_class, paused::float8, waiting::float8, performing::float8,
       greatest(runs - paused - waiting - performing, 0)::float8 as ready
from counted`;

/** The ongoing runs of each class, by status. */
export function runCounts(connection: Connection): Promise<RunCount[]> {
  return connection.ask(RUN_COUNTS, []);
}
