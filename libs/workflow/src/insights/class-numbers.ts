import type { RunStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';
import type { Tables } from '../store/statement.js';
import type { Span } from './window.js';

/** Of a percentile's three, in milliseconds; null: of none. */
export type Three = readonly [number, number, number] | null;

/** Attempts that ended in the window, of a step or of a revision. */
export interface AttemptNumbers {
  readonly attempts: number;
  readonly ran: number;
  readonly run_ms: Three;
  readonly pickup_ms: Three;
  readonly failed: number;
  readonly reattempted: number;
  readonly skipped: number;
}

export interface StepNumbers extends AttemptNumbers {
  readonly step: string;
  /** Runs started in the window that have had an attempt of it. */
  readonly reached: number;
}

export interface RevisionNumbers extends AttemptNumbers {
  readonly revision: string;
  /** Milliseconds since 1970. */
  readonly first_ended: number;
}

/** The numbers of a class in a window, as the tables have them. */
export interface ClassNumbers {
  /** In the order in which they were first met. */
  readonly steps: readonly StepNumbers[];
  /** Newest first. */
  readonly revisions: readonly RevisionNumbers[];
  /** Those that are not 0. */
  readonly series: readonly {
    readonly bucket: number;
    readonly what: 'started' | 'finished' | 'cancelled';
    readonly runs: number;
  }[];
  readonly finished: { readonly runs: number; readonly ms: Three };
  /** Finished runs by the place of their duration among the bounds: 0 is below the first. Those that are not 0. */
  readonly durations: readonly { readonly place: number; readonly runs: number }[];
  /** Runs started in the window: how they ended, or the step they stand on. */
  readonly funnel: readonly {
    readonly ended: 'finished' | 'cancelled' | null;
    readonly step: string | null;
    readonly runs: number;
  }[];
}

/**
 * A class's numbers in one statement.
 *
 * No index leads from a class or a moment to attempts, and each would cost every step of every run. So it goes by the runs: an attempt that ended in the
 * window belongs to a run that has ended since, or to one that is ongoing and was written to since (`updated_at` moves with every attempt's end). Their
 * attempts are looked up run by run, in the order of the ids, which is that of time: `offset 0` keeps the planner from reading the whole table of
 * attempts instead, which is other classes' and other weeks'.
 *
 * `date_part` counts in floating point; `extract` would in numeric, at several times the cost.
 *
 * $1 class  $2, $3 the window's ends  $4 a bucket's milliseconds  $5 how many buckets  $6 the bounds of the distribution, in milliseconds
 */
const numbersOf = (t: Tables) => `
with runs as materialized (
  select r.* from (
    select w.id, w.status, w.current_step, w.created_at, w.ended_at from ${t.runs} w
    where w.workflow_class = $1::text and w.ended_at >= $2::timestamptz
    union all
    select w.id, w.status, w.current_step, w.created_at, w.ended_at from ${t.runs} w
    where w.workflow_class = $1::text and w.ended_at is null and w.updated_at >= $2::timestamptz) r
  order by r.id
), looked_up as (
  select s.id, s.step_name, s.attempt, s.app_revision, s.finished_at, s.error_class, s.outcome, s.status, s.started_at,
         case when s.available_at <= s.started_at then s.available_at else s.scheduled_at end as due_at,
         coalesce(s.finished_at >= $2::timestamptz and s.finished_at < $3::timestamptz, false) as counted,
         r.created_at >= $2::timestamptz and r.created_at < $3::timestamptz as begun
  from runs r cross join lateral (
    select a.id, a.step_name, a.attempt, a.app_revision, a.finished_at, a.error_class, a.outcome, a.status, a.started_at,
           a.available_at, a.scheduled_at
    from ${t.steps} a where a.workflow_id = r.id and a.member_index = -1 offset 0) s
), attempts as materialized (
  select id, step_name as step, case when counted then app_revision end as revision, finished_at, counted,
         begun and attempt = 1 as reached,
         case when ran then greatest(date_part('epoch', finished_at - started_at) * 1000, 0) end as run_ms,
         case when ran then greatest(date_part('epoch', started_at - due_at) * 1000, 0) end as pickup_ms,
         counted and error_class is not null as failed, counted and outcome = 'reattempted' as reattempted,
         counted and status = 'skipped' as skipped
  from looked_up cross join lateral (select counted and started_at is not null as ran) r where counted or begun
), moments as (
  select m.what, $5::int - ceil(date_part('epoch', $3::timestamptz - m.at) * 1000 / $4::float8)::int as bucket
  from runs r cross join lateral (values ('started', r.created_at), (r.status, r.ended_at)) m(what, at)
  where m.at >= $2::timestamptz and m.at < $3::timestamptz
), finished as (
  select date_part('epoch', r.ended_at - r.created_at) * 1000 as ms from runs r
  where r.status = 'finished' and r.ended_at < $3::timestamptz
)
select
  (select coalesce(json_agg(s order by s.first_id), '[]') from (
     select step, min(id) as first_id, count(*) filter (where reached) as reached, ${ATTEMPT_NUMBERS}
     from attempts group by step) s) as steps,
  (select coalesce(json_agg(v order by v.first_ended desc, v.last_ended desc, v.revision desc), '[]') from (
     select revision, date_part('epoch', min(finished_at)) * 1000 as first_ended, max(finished_at) as last_ended, ${ATTEMPT_NUMBERS}
     from attempts where revision is not null group by revision) v) as revisions,
  (select coalesce(json_agg(b), '[]') from (select bucket, what, count(*) as runs from moments group by bucket, what) b) as series,
  (select json_build_object('runs', count(*), 'ms', percentile_cont(array[0.5, 0.95, 0.99]) within group (order by ms))
   from finished) as finished,
  (select coalesce(json_agg(d), '[]') from (
     select width_bucket(ms, $6::float8[]) as place, count(*) as runs from finished group by place) d) as durations,
  (select coalesce(json_agg(f), '[]') from (
     select case when r.ended_at is not null then r.status end as ended, case when r.ended_at is null then r.current_step end as step,
            count(*) as runs
     from runs r where r.created_at >= $2::timestamptz and r.created_at < $3::timestamptz group by 1, 2) f) as funnel`;

const THREE = 'percentile_cont(array[0.5, 0.95, 0.99]) within group';
const ATTEMPT_NUMBERS = `count(*) filter (where counted) as attempts, count(run_ms) as ran, ${THREE} (order by run_ms) as run_ms,
            ${THREE} (order by pickup_ms) as pickup_ms, count(*) filter (where failed) as failed,
            count(*) filter (where reattempted) as reattempted, count(*) filter (where skipped) as skipped`;

export async function classNumbers(
  connection: Connection,
  workflowClass: string,
  span: Span,
  durationBounds: readonly number[],
): Promise<ClassNumbers> {
  const { from, to } = span.view;
  const values = [workflowClass, from, to, span.bucket, span.buckets, durationBounds];
  const [numbers] = await connection.ask<ClassNumbers>(numbersOf, values);
  return numbers!;
}

/** Ongoing runs of a class by the step they stand on and how they stand. */
export interface Standing {
  readonly step: string;
  readonly status: Extract<RunStatus, 'ready' | 'performing' | 'waiting' | 'paused'>;
  readonly runs: number;
}

export function standing(connection: Connection, workflowClass: string): Promise<Standing[]> {
  return connection.ask(
    (t) => `
select w.current_step as step, w.status, count(*)::float8 as runs from ${t.runs} w
where w.workflow_class = $1::text and w.ended_at is null group by w.current_step, w.status order by w.current_step`,
    [workflowClass],
  );
}
