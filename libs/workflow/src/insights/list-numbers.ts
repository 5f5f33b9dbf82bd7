import type { Connection } from '../store/connection.js';
import type { Span } from './window.js';

/** Of the runs of a class that ended in the window. */
export interface EndedNumbers {
  readonly workflow_class: string;
  readonly finished: number;
  readonly cancelled: number;
  /** p50, p95 and p99 of created to finished; null: none finished. */
  readonly ms: readonly [number, number, number] | null;
}

export async function endedNumbers(connection: Connection, span: Span): Promise<EndedNumbers[]> {
  const { from, to } = span.view;
  return connection.ask(
    (t) => `
select workflow_class, count(ms)::float8 as finished, (count(*) - count(ms))::float8 as cancelled,
       array_to_json(percentile_cont(array[0.5, 0.95, 0.99]) within group (order by ms)) as ms
from (
  select w.workflow_class, case when w.status = 'finished' then date_part('epoch', w.ended_at - w.created_at) * 1000 end as ms
  from ${t.runs} w where w.ended_at >= $1::timestamptz and w.ended_at < $2::timestamptz) ended
group by workflow_class`,
    [from, to],
  );
}

/** Runs of a class that go on. */
export interface OngoingNumbers {
  readonly workflow_class: string;
  readonly ongoing: number;
  readonly paused: number;
  readonly on_gravestones: number;
}

/** Gravestones as two lists of one length: their class, and their step. */
export interface Gravestones {
  readonly classes: readonly string[];
  readonly steps: readonly string[];
}

/** Counted by the index of ongoing runs alone; who is paused or on a gravestone is looked up for itself. */
export function ongoingNumbers(connection: Connection, { classes, steps }: Gravestones): Promise<OngoingNumbers[]> {
  return connection.ask(
    (t) => `
with ongoing as (
  select w.workflow_class, count(*) as runs from ${t.runs} w where w.ended_at is null group by w.workflow_class
), paused as (
  select w.workflow_class, count(*) as runs from ${t.runs} w where w.paused_at is not null group by w.workflow_class
), on_gravestones as (
  select g.class as workflow_class, count(*) as runs
  from (select class, array_agg(step) as steps from unnest($1::text[], $2::text[]) given(class, step) group by class) g
  join ${t.runs} w on w.workflow_class = g.class and w.ended_at is null and w.current_step = any(g.steps)
  group by g.class
)
select o.workflow_class, o.runs::float8 as ongoing, coalesce(p.runs, 0)::float8 as paused, coalesce(g.runs, 0)::float8 as on_gravestones
from ongoing o left join paused p using (workflow_class) left join on_gravestones g using (workflow_class)`,
    [classes, steps],
  );
}
