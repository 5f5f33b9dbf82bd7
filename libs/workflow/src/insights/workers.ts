import type { Connection } from '../store/connection.js';
import { epochMs, toMoment } from './moments.js';
import type { WorkerView } from './views.js';

/** Of what a worker has in hand, the oldest are shown. */
const SHOWN_RUNS = 20;

interface ConnectedRow {
  readonly id: string;
  readonly name: string;
  readonly started_at: number | null;
}

interface BusyRow {
  readonly id: string;
  readonly name: string | null;
  readonly in_progress: number;
  readonly workflow_id: string;
  readonly class: string;
  readonly step: string;
  readonly attempt: number;
  readonly started_at: number;
}

/**
 * The workers that are alive: those whose lease connection the server has (`worker/leases.ts` names it), and those that rows in progress name. Behind a
 * pooler the second kind alone may show.
 *
 * A connection's name has room for the first eight characters of its worker's id: that is what a worker is told by here.
 */
export async function workersOf(connection: Connection): Promise<WorkerView[]> {
  const connected = await connection.ask<ConnectedRow>(() => CONNECTED, []);
  const busy = await connection.ask<BusyRow>(
    (t) => `with busy as materialized (
  select left(s.worker_id::text, 8) as id, s.worker, s.workflow_id, s.step_name, s.attempt, s.started_at,
         count(*) over of_worker::int as in_progress, row_number() over (of_worker order by s.started_at, s.id) as place
  from ${t.steps} s where s.status = 'in_progress' window of_worker as (partition by left(s.worker_id::text, 8))
)
select b.id, b.worker as name, b.in_progress, b.workflow_id, w.workflow_class as class, b.step_name as step, b.attempt,
       ${epochMs('b.started_at')} as started_at
from busy b join ${t.runs} w on w.id = b.workflow_id where b.place <= ${SHOWN_RUNS} order by b.id, b.place`,
    [],
  );
  const ids = [...new Set([...connected, ...busy].map(({ id }) => id))];
  return ids
    .map((id) => {
      const lease = connected.find((row) => row.id === id);
      const rows = busy.filter((row) => row.id === id);
      return {
        id,
        name: rows[0]?.name ?? lease?.name ?? '',
        started_at: toMoment(lease?.started_at ?? null),
        in_progress: rows[0]?.in_progress ?? 0,
        runs: rows.map((row) => ({
          workflow_id: row.workflow_id,
          class: row.class,
          step: row.step,
          attempt: row.attempt,
          started_at: toMoment(row.started_at),
        })),
      };
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
}

/**
 * `wf 0198f2a4 host:4711 3fa8c21`. A role that may not see another's connections is told their names, not their times. Of a worker with two connections
 * (the old one is not closed yet) the older tells since when.
 */
const CONNECTED = `select told.part[1] as id, told.part[2] as name, min(${epochMs('a.backend_start')}) as started_at
from pg_stat_activity a
cross join lateral (select regexp_match(a.application_name, '^wf ([0-9a-f]{8}) (\\S+)') as part) told
where a.datname = current_database() and told.part is not null
group by 1, 2`;
