import type { WorkflowDefinition } from '../definition/definition.js';
import { availableActions, type RunStatus, type StepStatus } from '../model/states.js';
import type { Tables } from '../store/statement.js';
import type { InsightsParts } from './insights.parts.js';
import { epochMs, toDate, toMoment } from './moments.js';
import { stuckReason, type StuckReason } from './stuck.js';
import type { RunSummary } from './views.js';
import { describeRun, type RowNow } from './words.js';

/** A run with the newest attempt of its current step. Moments are milliseconds since 1970. */
export interface ShownRun {
  readonly id: string;
  readonly workflow_class: string;
  readonly subject_type: string | null;
  readonly subject_id: string | null;
  readonly status: RunStatus;
  readonly current_step: string;
  readonly definition_digest: string;
  /** Microseconds, as text: what a cursor holds. */
  readonly created_us: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly paused_at: number | null;
  readonly ended_at: number | null;
  readonly stuck_reason: StuckReason | null;
  /** Null, as all that follows: it has no attempt. */
  readonly attempt: number | null;
  readonly step_status: StepStatus | null;
  readonly scheduled_at: number | null;
  readonly started_at: number | null;
  readonly worker: string | null;
  readonly error_class: string | null;
  readonly wait_for: string | null;
  readonly waiting_since: number | null;
  readonly timeout_at: number | null;
  readonly timed_out: boolean | null;
  readonly batch_size: number | null;
  readonly open_members: number | null;
  /** The `notify` deadline that was announced and has none after it, as events write it. */
  readonly late_since: string | null;
  readonly cancelled_by: string | null;
  readonly cancel_reason: string | null;
  readonly now: number;
}

/** The columns of {@link ShownRun}, of a run `w` and what {@link currentRow} joins to it. `place`: as for `stuckReason`. */
export function shownColumns(place: number): string {
  return `w.id, w.workflow_class, w.subject_type, w.subject_id, w.status, w.current_step, w.definition_digest,
       (extract(epoch from w.created_at) * 1000000)::bigint::text as created_us,
       ${epochMs('w.created_at')} as created_at, ${epochMs('w.updated_at')} as updated_at,
       ${epochMs('w.paused_at')} as paused_at, ${epochMs('w.ended_at')} as ended_at, ${stuckReason(place)} as stuck_reason,
       r.attempt, r.status as step_status, ${epochMs('r.scheduled_at')} as scheduled_at, ${epochMs('r.started_at')} as started_at,
       r.worker, r.error_class, r.wait_for, ${epochMs('r.waiting_since')} as waiting_since, ${epochMs('r.timeout_at')} as timeout_at,
       r.timed_out, case when r.status = 'waiting' then r.batch_size end as batch_size, members.open as open_members,
       notice.timeout_at as late_since, cancelled.actor as cancelled_by, cancelled.reason as cancel_reason,
       ${epochMs('statement_timestamp()')} as now`;
}

/**
 * Joins to the run `w` the newest attempt `r` of its current step; how many members of the batch it waits on are open; the last notice of a wait
 * whose deadline was cleared; who cancelled the run. The last three are looked for only where there can be one.
 */
export function currentRow(t: Tables): string {
  return `left join lateral (
  select s.id, s.attempt, s.status, s.scheduled_at, s.available_at, s.started_at, s.worker, s.error_class, s.wait_for, s.waiting_since,
         s.timeout_at, s.stopped_timeout_at, s.timed_out, s.batch_size
  from ${t.steps} s where s.workflow_id = w.id and s.step_name = w.current_step and s.member_index = -1
  order by s.attempt desc limit 1) r on true
left join lateral (
  select count(*)::int as open from ${t.steps} m
  where r.status = 'waiting' and r.batch_size is not null
    and m.parent_step_id = r.id and m.parent_step_id is not null and m.status in ('scheduled', 'in_progress')) members on true
left join lateral (
  select e.details->>'timeout_at' as timeout_at from ${t.events} e
  where r.status = 'waiting' and r.wait_for is not null and r.timeout_at is null and r.stopped_timeout_at is null
    and e.workflow_id = w.id and e.step_id = r.id and e.name = 'wait_timed_out'
  order by e.id desc limit 1) notice on true
left join lateral (
  select e.actor, e.reason from ${t.events} e
  where w.status = 'cancelled' and e.workflow_id = w.id and e.name = 'cancelled'
  order by e.id desc limit 1) cancelled on true`;
}

/** The class of a run, when it is loaded here. */
export function loadedClass({ registry }: InsightsParts, name: string): WorkflowDefinition | null {
  return registry.get(name)?.definition ?? null;
}

export function runSummary(run: ShownRun, parts: InsightsParts): RunSummary {
  const { stallThreshold } = parts.settings;
  const definition = loadedClass(parts, run.workflow_class);
  return {
    id: run.id,
    class: run.workflow_class,
    subject: run.subject_type === null ? null : { type: run.subject_type, id: run.subject_id! },
    status: run.status,
    step: run.current_step,
    attempt: run.attempt,
    error_class: run.error_class,
    stuck_reason: run.stuck_reason,
    created_at: toMoment(run.created_at),
    updated_at: toMoment(run.updated_at),
    ended_at: toMoment(run.ended_at),
    available_actions: availableActions(run.status),
    ...describeRun(
      {
        id: run.id,
        workflowClass: run.workflow_class,
        status: run.status,
        step: run.current_step,
        row: rowNow(run),
        createdAt: toDate(run.created_at),
        pausedAt: toDate(run.paused_at),
        endedAt: toDate(run.ended_at),
        cancelledBy: run.cancelled_by === null ? null : { actor: run.cancelled_by, reason: run.cancel_reason },
      },
      { now: toDate(run.now), definition, stallThreshold },
    ),
  };
}

function rowNow(run: ShownRun): RowNow | null {
  const { attempt, step_status: status, scheduled_at: scheduledAt, batch_size: total } = run;
  if (attempt === null || status === null || scheduledAt === null) return null;
  return {
    attempt,
    status,
    scheduledAt: toDate(scheduledAt),
    startedAt: toDate(run.started_at),
    worker: run.worker,
    errorClass: run.error_class,
    waitFor: run.wait_for,
    waitingSince: toDate(run.waiting_since),
    timeoutAt: toDate(run.timeout_at),
    lateSince: run.late_since === null ? null : new Date(run.late_since),
    timedOut: run.timed_out === true,
    batch: total === null ? null : { done: total - (run.open_members ?? 0), total },
  };
}
