import type { RunStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';
import type { Tables } from '../store/statement.js';
import { microseconds, PERCENTILES } from './durations.js';
import type { Span } from './window.js';

/** Three percentiles in microseconds, as the tables count; null: of none. */
export type Three = readonly [number, number, number] | null;

/** Attempts that ended in the window, of a step or of a revision. */
export interface AttemptNumbers {
  readonly attempts: number;
  /** Those that had started. */
  readonly ran: number;
  readonly run_us: Three;
  readonly failed: number;
  readonly reattempted: number;
  readonly skipped: number;
}

export interface StepNumbers extends AttemptNumbers {
  readonly step: string;
  readonly pickup_us: Three;
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
  readonly finished: { readonly runs: number; readonly us: Three };
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
 * They are read once, into cells of a step and a revision that keep their durations as arrays: percentiles are of those, so that only durations are sorted, never rows.
 * Names are told apart byte by byte: by a language's rules it would take longer.
 *
 * $1 class  $2, $3 the window's ends  $4 where the window's buckets begin  $5 the bounds of the distribution, in milliseconds
 */
const numbersOf = (t: Tables) => `
with runs as materialized (
  select r.*, r.created_at >= $2::timestamptz and r.created_at < $3::timestamptz as begun from (
    select w.id, w.status, w.current_step, w.created_at, w.ended_at from ${t.runs} w
    where w.workflow_class = $1::text and w.ended_at >= $2::timestamptz
    union all
    select w.id, w.status, w.current_step, w.created_at, w.ended_at from ${t.runs} w
    where w.workflow_class = $1::text and w.ended_at is null and w.updated_at >= $2::timestamptz) r
  order by r.id
), looked_up as (
  select a.*, r.begun from runs r cross join lateral (
    select s.id, s.step_name collate "C" as step, s.attempt, s.app_revision collate "C" as revision, s.finished_at,
           coalesce(s.finished_at >= $2::timestamptz and s.finished_at < $3::timestamptz, false) as counted,
           s.error_class is not null as failed, s.outcome = 'reattempted' as reattempted, s.status = 'skipped' as skipped,
           ${microseconds('s.started_at', 's.finished_at')} as run_us,
           ${microseconds('case when s.available_at <= s.started_at then s.available_at else s.scheduled_at end', 's.started_at')} as pickup_us
    from ${t.steps} s where s.workflow_id = r.id and s.member_index = -1 offset 0) a
  where a.counted or r.begun
), cells as materialized (
  select step, revision, counted, min(id) as first_id, count(*) filter (where begun and attempt = 1) as reached, count(*) as attempts,
         array_agg(run_us) filter (where run_us is not null) as run_us,
         array_agg(pickup_us) filter (where pickup_us is not null) as pickup_us,
         count(*) filter (where failed) as failed, count(*) filter (where reattempted) as reattempted,
         count(*) filter (where skipped) as skipped, min(finished_at) as first_ended, max(finished_at) as last_ended
  from looked_up group by step, revision, counted
), moments as (
  select m.what, width_bucket(m.at, $4::timestamptz[]) - 1 as bucket
  from runs r cross join lateral (values ('started', r.created_at), (r.status, r.ended_at)) m(what, at)
  where m.at >= $2::timestamptz and m.at < $3::timestamptz
), finished as (
  select ${microseconds('r.created_at', 'r.ended_at')} as us from runs r
  where r.status = 'finished' and r.ended_at < $3::timestamptz
)
select
  (select coalesce(json_agg(s order by s.first_id), '[]') from (
     select step, min(first_id) as first_id, sum(reached) as reached, ${sumsOf('step')}, ${percentilesOf('pickup_us', 'step')}
     from cells outside group by step) s) as steps,
  (select coalesce(json_agg(v order by v.first_ended desc, v.last_ended desc, v.revision desc), '[]') from (
     select revision, date_part('epoch', min(first_ended)) * 1000 as first_ended, max(last_ended) as last_ended, ${sumsOf('revision')}
     from cells outside where counted and revision is not null group by revision) v) as revisions,
  (select coalesce(json_agg(b), '[]') from (select bucket, what, count(*) as runs from moments group by bucket, what) b) as series,
  (select json_build_object('runs', count(*), 'us', ${PERCENTILES} (order by us)) from finished) as finished,
  (select coalesce(json_agg(d), '[]') from (
     select width_bucket(us / 1000.0::float8, $5::float8[]) as place, count(*) as runs from finished group by place) d) as durations,
  (select coalesce(json_agg(f), '[]') from (
     select case when r.ended_at is not null then r.status end as ended, case when r.ended_at is null then r.current_step end as step,
            count(*) as runs
     from runs r where r.begun group by 1, 2) f) as funnel`;

/** Of the cells of one step or one revision: what each is added up over. */
function sumsOf(key: 'step' | 'revision'): string {
  const sum = (of: string) => `coalesce(sum(${of}) filter (where counted), 0)`;
  return `${sum('attempts')} as attempts, ${sum('cardinality(run_us)')} as ran, ${sum('failed')} as failed,
            ${sum('reattempted')} as reattempted, ${sum('skipped')} as skipped, ${percentilesOf('run_us', key)}`;
}

/** `unnest` stands in the list of columns: behind `from`, each array would be written down before it is read. */
function percentilesOf(column: 'run_us' | 'pickup_us', key: 'step' | 'revision'): string {
  return `(select ${PERCENTILES} (order by us) from (
               select unnest(c.${column}) as us from cells c where c.counted and c.${key} = outside.${key}) u) as ${column}`;
}

export async function classNumbers(
  connection: Connection,
  workflowClass: string,
  span: Span,
  durationBounds: readonly number[],
): Promise<ClassNumbers> {
  const { from, to } = span.view;
  const values = [workflowClass, from, to, span.beginnings, durationBounds];
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
