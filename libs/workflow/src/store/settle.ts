import { sourceOf } from '../model/states.js';
import type { WorkerIdentity } from './claim.js';
import type { Connection } from './connection.js';
import { dueAt, nextAttempt, type Schedule } from './schedule.js';
import { padded, statement, statusIs } from './statement.js';

/** A plain attempt that completed, and what follows. */
export interface Settlement {
  readonly id: string;
  readonly workflowId: string;
  readonly claimNo: number;
  /** As stored. */
  readonly output: string | null;
  /** Null: it was the last. */
  readonly next: Schedule | null;
  /** The next step is claimed by this worker in the same statement. */
  readonly inPlace: boolean;
}

export interface Settled {
  /** The row that was closed. */
  readonly id: string;
  readonly next_id: string | null;
  readonly next_attempt: number | null;
  readonly next_due_in: number | null;
}

/**
 * Closes many attempts as completed and opens what follows them, or finishes their runs.
 *
 * Locks: the runs it may (in order of id, skip locked) that are performing; then their rows, guarded by (id, claim_no, in
 * progress). What does not come back was locked by somebody, late, or unusual, and goes the way of one run at a time.
 * The next row is inserted from the closing update's RETURNING: from the input it would meet the old row in the index "one
 * open row a run", which is checked row by row.
 */
const SETTLE = statement(
  'settle',
  (t) => `
with given as materialized (
  select * from unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[],
                       $9::float8[], $10::float8[], $11::timestamptz[], $12::bool[])
    as g(id, workflow_id, claim_no, output, next_step, handler, queue, priority, wait, hold_back, not_before, in_place)
), held as materialized (
  select w.id from ${t.runs} w where w.id = any($2::uuid[]) and w.status = '${sourceOf('advance')}'
  order by w.id for no key update skip locked
), closed as (
  update ${t.steps} s
  set status = 'completed', outcome = 'completed',
      finished_at = statement_timestamp(), output = g.output::json
  from given g join held h on h.id = g.workflow_id
  where s.id = g.id and ${statusIs('s.status', `'in_progress'`)} and s.claim_no = g.claim_no
  returning s.id, s.workflow_id, g.next_step, g.handler, g.queue, g.priority, g.wait, g.hold_back, g.not_before, g.in_place
), opened as (
  insert into ${t.steps} (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at,
                          started_at, claim_no, worker_id, worker, app_revision, lease_expires_at)
  select c.workflow_id, c.handler, c.next_step, ${nextAttempt(t.steps, 'c.workflow_id', 'c.next_step')},
         case when c.in_place then 'in_progress' else 'scheduled' end, c.queue, c.priority, due.at, due.at,
         case when c.in_place then statement_timestamp() end, case when c.in_place then 1 else 0 end,
         case when c.in_place then $13::uuid end, case when c.in_place then $14 end, case when c.in_place then $15 end,
         case when c.in_place then statement_timestamp() + $16::float8 * interval '1 millisecond' end
  from closed c cross join lateral (
    select ${dueAt({ base: 'statement_timestamp()', wait: 'c.wait', holdBack: 'c.hold_back', notBefore: 'c.not_before' })} as at) due
  where c.next_step is not null
  returning id, workflow_id, attempt, status, available_at
), runs as (
  update ${t.runs} w
  set status = case when c.next_step is null then 'finished' when c.in_place then 'performing' else 'ready' end,
      current_step = coalesce(c.next_step, w.current_step), updated_at = statement_timestamp(),
      ended_at = case when c.next_step is null then statement_timestamp() end
  from closed c where w.id = c.workflow_id
), consumed as (
  -- Which steps hold signals is not for the class to say: it may have lost them since.
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  where g.workflow_id = any(array(select c.workflow_id from closed c where c.next_step is null)) and g.status = 'claimed'
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor)
  select workflow_id, id, 'step_completed', 'system' from closed
  union all select workflow_id, id, 'step_scheduled', 'system' from opened
  union all select workflow_id, id, 'step_started', 'system' from opened where status = 'in_progress'
  union all select workflow_id, null, 'finished', 'system' from closed where next_step is null
)
select c.id, o.id as next_id, o.attempt as next_attempt,
       (extract(epoch from o.available_at - statement_timestamp()) * 1000)::float8 as next_due_in
from closed c left join opened o on o.workflow_id = c.workflow_id`,
);

/** Settles what it can in one statement; what is missing from the answer it left alone. */
export function settle(
  connection: Connection,
  settlements: readonly Settlement[],
  worker: WorkerIdentity,
): Promise<Settled[]> {
  const column = <T>(value: (settlement: Settlement) => T) => padded(settlements.map(value));
  return connection.run(SETTLE, [
    column(({ id }) => id),
    column(({ workflowId }) => workflowId),
    column(({ claimNo }) => claimNo),
    column(({ output }) => output),
    column(({ next }) => next?.step ?? null),
    column(({ next }) => next?.handler ?? null),
    column(({ next }) => next?.queue ?? null),
    column(({ next }) => next?.priority ?? null),
    column(({ next }) => next?.wait ?? 0),
    column(({ next }) => next?.holdBack ?? 0),
    column(({ next }) => next?.notBefore ?? null),
    column(({ inPlace }) => inPlace),
    worker.id,
    worker.label,
    worker.appRevision,
    worker.lease,
  ]);
}
