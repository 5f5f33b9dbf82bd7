import type { Connection } from '../store/connection.js';
import type { Three } from './class-numbers.js';
import { microseconds, PERCENTILES } from './durations.js';
import type { Span } from './window.js';

/** Of the runs of a class that ended in the window. */
export interface EndedNumbers {
  readonly workflow_class: string;
  readonly finished: number;
  readonly cancelled: number;
  /** Of created to finished. */
  readonly us: Three;
}

/** The durations go into an array for each class: only they are sorted, never the rows. */
export async function endedNumbers(connection: Connection, span: Span): Promise<EndedNumbers[]> {
  const { from, to } = span.view;
  return connection.ask(
    (t) => `
select workflow_class, coalesce(cardinality(durations), 0) as finished, (runs - coalesce(cardinality(durations), 0))::float8 as cancelled,
       (select array_to_json(${PERCENTILES} (order by us)) from unnest(durations) us) as us
from (
  select w.workflow_class collate "C" as workflow_class, count(*) as runs,
         array_agg(${microseconds('w.created_at', 'w.ended_at')}) filter (where w.status = 'finished') as durations
  from ${t.runs} w where w.ended_at >= $1::timestamptz and w.ended_at < $2::timestamptz group by 1) ended`,
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
