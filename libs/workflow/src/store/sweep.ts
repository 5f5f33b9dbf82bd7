import type { Connection } from './connection.js';
import type { SuspectRow } from './leases.js';
import { FIRST_RUN } from './run.js';
import { statement } from './statement.js';
import { ROW_KEY } from './step-key.js';

/** Rows of one page. */
export const PAGE = 100;

/** A row that the sweep looks at. */
export interface SweptRow {
  readonly id: string;
  readonly workflow_id: string;
}

const HUNG = statement(
  'hung',
  (t) => `
with hung as materialized (
  select s.id, s.workflow_id, s.claim_no, s.handler, s.parent_step_id is not null as member, s.job_attempt
  from ${t.steps} s left join unnest($2::text[], $3::float8[]) as own(key, ms) on s.parent_step_id is null and own.key = ${ROW_KEY}
  where s.status = 'in_progress' and s.handler = any($1::text[])
    and s.started_at + coalesce(own.ms, $4::float8) * interval '1 millisecond' < statement_timestamp()
)
select * from hung where id > $5::bigint order by id limit ${PAGE}`,
);

/** In progress for longer than the step's `timeout`, else the threshold; of the classes and jobs named, after the id given. */
export function hungRows(
  connection: Connection,
  handlers: readonly string[],
  timeouts: readonly { readonly key: string; readonly ms: number }[],
  threshold: number,
  after: string,
): Promise<SuspectRow[]> {
  return connection.run(HUNG, [
    handlers,
    timeouts.map(({ key }) => key),
    timeouts.map(({ ms }) => ms),
    threshold,
    after,
  ]);
}

/**
 * Waits for a signal are asked for by class and step: a loose walk over their index finds the few pairs there are, and only those that should not be are
 * looked into. Row by row, 200,000 healthy waits would be read to find nothing. Batches under way are few, and have an index of their own.
 *
 * Members never wait. Without a condition on their parent the index of all open rows does not fit.
 */
const STRANDED = statement(
  'stranded_waits',
  (t) => `
with recursive pair(handler, step_name) as (
  (select s.handler, s.step_name from ${t.steps} s where s.status = 'waiting' and s.batch_size is null
   order by s.handler, s.step_name limit 1)
  union all
  select next.handler, next.step_name from pair cross join lateral (
    select s.handler, s.step_name from ${t.steps} s
    where s.status = 'waiting' and s.batch_size is null and (s.handler, s.step_name) > (pair.handler, pair.step_name)
    order by s.handler, s.step_name limit 1) next
), signals as (
  select stranded.* from pair s cross join lateral (
    select w.id, w.workflow_id from ${t.steps} w
    where w.status = 'waiting' and w.batch_size is null and w.handler = s.handler and w.step_name = s.step_name
      and w.workflow_id > $4::uuid
    order by w.workflow_id limit ${PAGE}) stranded
  where s.handler = any($1::text[]) and ${ROW_KEY} <> all($2::text[])
), batches as (
  select s.id, s.workflow_id from ${t.steps} s
  where s.status = 'waiting' and s.batch_size is not null and s.handler = any($1::text[])
    and ${ROW_KEY} <> all($2::text[]) and ${ROW_KEY} <> all($3::text[]) and s.workflow_id > $4::uuid
  order by s.workflow_id limit ${PAGE}
)
select id, workflow_id from (select * from signals union all select * from batches) stranded
order by workflow_id limit ${PAGE}`,
);

/**
 * Waiting rows, of paused runs too, on steps that do not wait: not among those that wait for a signal, and (with a batch under way) not declared at all. By run,
 * after the one given.
 */
export function strandedWaits(
  connection: Connection,
  workflows: readonly string[],
  steps: { readonly waiting: readonly string[]; readonly declared: readonly string[] },
  after: string | null,
): Promise<SweptRow[]> {
  return connection.run(STRANDED, [workflows, steps.waiting, steps.declared, after ?? FIRST_RUN]);
}

const WAITING_BATCHES = statement(
  'waiting_batches',
  (t) => `
with waiting as materialized (
  select s.id, s.workflow_id, s.step_name, s.batch_size, s.waiting_since from ${t.steps} s
  where s.status = 'waiting' and s.batch_size is not null and s.handler = any($1::text[])
    and s.workflow_id > $3::uuid
  order by s.workflow_id limit ${PAGE}
)
select w.id, w.workflow_id,
       batch.open = 0 and (batch.members < w.batch_size
         or coalesce(batch.ended, w.waiting_since) < statement_timestamp() - $2::float8 * interval '1 millisecond') as missed
from waiting w cross join lateral (
  select count(*) as members, count(*) filter (where m.status in ('scheduled', 'in_progress')) as open, max(m.finished_at) as ended
  from ${t.steps} m where m.workflow_id = w.workflow_id and m.step_name = w.step_name and m.parent_step_id = w.id) batch
order by w.workflow_id`,
);

/**
 * Fan-outs that wait on their batch, by run, after the one given. `missed`: it ended so long ago, or members are gone, and nobody joined it.
 */
export function waitingBatches(
  connection: Connection,
  workflows: readonly string[],
  threshold: number,
  after: string | null,
): Promise<(SweptRow & { readonly missed: boolean })[]> {
  return connection.run(WAITING_BATCHES, [workflows, threshold, after ?? FIRST_RUN]);
}

/** A lane, and for how long its first row has been due; negative: it will be. */
export interface LaneAge {
  readonly queue: string;
  readonly priority: number;
  readonly due_for: number;
}

/** One step of a loose walk over the claim index: only the first row of each lane is read. */
const LANE_AGES = statement(
  'lane_ages',
  (t) => `
with recursive lane(queue, priority, available_at) as (
  (select s.queue, s.priority, s.available_at from ${t.steps} s where s.status = 'scheduled' and s.available_at is not null
   order by s.queue, s.priority, s.available_at limit 1)
  union all
  select next.queue, next.priority, next.available_at from lane cross join lateral (
    select s.queue, s.priority, s.available_at from ${t.steps} s
    where s.status = 'scheduled' and s.available_at is not null
      and (s.queue, s.priority) > (lane.queue, lane.priority)
    order by s.queue, s.priority, s.available_at limit 1) next
)
select queue, priority, (extract(epoch from statement_timestamp() - available_at) * 1000)::float8 as due_for
from lane limit 1000`,
);

/** How long the first row of each lane has been due. */
export function laneAges(connection: Connection): Promise<LaneAge[]> {
  return connection.run(LANE_AGES, []);
}

const FORBIDDEN = statement(
  'forbidden_pairs',
  (t) => `
(select w.id, w.status, s.status as step_status from ${t.steps} s join ${t.runs} w on w.id = s.workflow_id
 where s.status in ('scheduled', 'waiting', 'in_progress') and s.parent_step_id is null and w.status <> 'paused'
   and (s.step_name <> w.current_step
        or s.status <> case w.status when 'ready' then 'scheduled' when 'performing' then 'in_progress' when 'waiting' then 'waiting' else '' end)
 limit 10)
union all
(select w.id, w.status, null from ${t.runs} w
 where w.ended_at is null and w.status <> 'paused' and not exists (
   select from ${t.steps} s where s.workflow_id = w.id and s.status in ('scheduled', 'waiting', 'in_progress') and s.parent_step_id is null)
 limit 10)`,
);

/** A run whose status does not go with its step's. */
export interface ForbiddenPair {
  readonly id: string;
  readonly status: string;
  /** Null: it has no open step. */
  readonly step_status: string | null;
}

/** Up to twenty runs that somebody edited by hand into what the transition table forbids. */
export function forbiddenPairs(connection: Connection): Promise<ForbiddenPair[]> {
  return connection.run(FORBIDDEN, []);
}

const LOCK = statement('sweep_lock', () => 'select pg_try_advisory_xact_lock($1::bigint) as locked');

/** Takes the lock that one sweep holds at a time, until the transaction ends; false: another has it. */
export async function trySweepLock(connection: Connection, key: string): Promise<boolean> {
  const [row] = await connection.run<{ locked: boolean }>(LOCK, [key]);
  return row?.locked === true;
}
