import { laneWalk } from '../store/lane-walk.js';
import type { Tables } from '../store/statement.js';

/** Why a run needs a person. A run has at most one reason. */
export const STUCK_REASONS = ['paused_error', 'stalled', 'paused_manual', 'overdue', 'waiting_overdue'] as const;
export type StuckReason = (typeof STUCK_REASONS)[number];

/** What the settings call stuck, in milliseconds. */
export interface StuckThresholds {
  readonly stallThreshold: number;
  readonly waitingVisibilityThreshold: number;
}

/** The parameters that {@link stuckRuns} takes, at the places it was given. */
export function stuckParameters(
  { stallThreshold, waitingVisibilityThreshold }: StuckThresholds,
  workflowClass: string | null = null,
): [number, number, string | null] {
  return [stallThreshold, waitingVisibilityThreshold, workflowClass];
}

const PAUSED_FOR = `case when r.status <> 'failed' then 'paused_manual'
            when r.error_class = 'StepStalledError' then 'stalled' else 'paused_error' end`;

/**
 * Why one run is stuck, or null, as an expression over the run `w` and the newest attempt `r` of its current step: for runs that are at hand already, where
 * {@link stuckRuns} would look at all of them. A test holds the two to each other.
 *
 * @param place the first of two parameters: `stallThreshold` and `waitingVisibilityThreshold` in milliseconds
 */
export function stuckReason(place: number): string {
  return `case w.status
         when 'paused' then ${PAUSED_FOR}
         when 'ready' then case when r.status = 'scheduled' and r.available_at < ${ago(`$${place}::float8`)} then 'overdue' end
         when 'waiting' then case when r.status = 'waiting' and r.timeout_at is null and r.waiting_since < ${ago(`$${place + 1}::float8`)}
                                  then 'waiting_overdue' end end`;
}

/** So many milliseconds before now. */
function ago(ms: string): string {
  return `statement_timestamp() - ${ms} * interval '1 millisecond'`;
}

/**
 * A query of the runs that need a person, to stand behind `from` in parentheses: gauge, summary, attention groups, insights and the list's
 * filter all ask this one, so that they count the same runs.
 *
 * Its rows: `workflow_id`, `workflow_class`, `step_name` that the run stands on, `reason` (a {@link StuckReason}), `error_class` and `error_message` of the
 * failed attempt that it is paused on (null for the other reasons), and `since` when it is paused, due or waiting.
 *
 * Each part is read from a partial index of what it asks for: paused runs; the due rows at the head of each lane (a loose walk finds the lanes); waits
 * without a deadline, oldest first. A wait with a deadline is never stuck. The lanes' walk is kept by `offset 0`, and by asking for the
 * members' index and not their parent, which the index of all open rows would fit: with a million rows scheduled ahead that one is read whole.
 *
 * @param place the first of its three parameters: `stallThreshold` and `waitingVisibilityThreshold` in milliseconds, and a class or null
 */
export function stuckRuns(t: Tables, place: number): string {
  const [stall, visibility, only] = [`$${place}::float8`, `$${place + 1}::float8`, `$${place + 2}::text`];
  const ofClass = `(${only} is null or w.workflow_class = ${only})`;
  return `
with recursive ${laneWalk(t)}
select w.id as workflow_id, w.workflow_class, w.current_step as step_name,
       ${PAUSED_FOR} as reason,
       case when r.status = 'failed' then r.error_class end as error_class,
       case when r.status = 'failed' then r.error_message end as error_message,
       w.paused_at as since
from ${t.runs} w cross join lateral (
  select s.status, s.error_class, s.error_message from ${t.steps} s
  where s.workflow_id = w.id and s.step_name = w.current_step and s.member_index = -1
  order by s.attempt desc limit 1) r
where w.paused_at is not null and ${ofClass}
union all
select w.id, w.workflow_class, due.step_name, 'overdue', null, null, due.available_at
from lane cross join lateral (
  select s.workflow_id, s.step_name, s.available_at from ${t.steps} s
  where s.status = 'scheduled' and s.queue = lane.queue and s.priority = lane.priority
    and s.available_at < ${ago(stall)} and s.member_index = -1
  offset 0) due
join ${t.runs} w on w.id = due.workflow_id
where w.status = 'ready' and ${ofClass}
union all
select w.id, w.workflow_class, s.step_name, 'waiting_overdue', null, null, s.waiting_since
from ${t.steps} s join ${t.runs} w on w.id = s.workflow_id
where s.status = 'waiting' and s.timeout_at is null and s.waiting_since < ${ago(visibility)}
  and w.status = 'waiting' and ${ofClass}`;
}
