import type { Tables } from './statement.js';

/** The CTE `lane`: queues and priorities that have scheduled rows, found by a loose walk over the claim's index, which reads one entry of each. */
export function laneWalk(t: Tables): string {
  return `lane(queue, priority) as (
  (select s.queue, s.priority from ${t.steps} s where s.status = 'scheduled' and s.available_at is not null
   order by s.queue, s.priority limit 1)
  union all
  select next.queue, next.priority from lane cross join lateral (
    select s.queue, s.priority from ${t.steps} s
    where s.status = 'scheduled' and s.available_at is not null and (s.queue, s.priority) > (lane.queue, lane.priority)
    order by s.queue, s.priority limit 1) next
)`;
}
