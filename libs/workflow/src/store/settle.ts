import { sourceOf } from '../model/states.js';
import type { WorkerIdentity } from './claim.js';
import type { Connection } from './connection.js';
import { dueAt, nextAttempt, type Schedule } from './schedule.js';
import { expectOne, padded, paddedArray, statement, statusIs } from './statement.js';

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
  /** It may hold a signal, which is used up. */
  readonly hasSignal: boolean;
}

/** A run whose attempt was closed, and the attempt that was opened; null: it finished. */
export interface Settled {
  readonly workflow_id: string;
  readonly next_id: string | null;
  readonly next_attempt: number | null;
  /** Milliseconds until it is due; null in place. */
  readonly next_due_in: number | null;
}

/**
 * Closes many attempts as completed and opens what follows them, or finishes their runs. No two are of one run.
 *
 * Locks: the runs it may (in order of id, skip locked) that are performing; then their rows, guarded by (id, claim_no, in
 * progress). What does not come back was locked by somebody, late, or unusual, and goes the way of one run at a time.
 * The next row is inserted from the closing update's RETURNING: from the input it would meet the old row in the index "one
 * open row a run", which is checked row by row.
 *
 * Most rows of a set go on to the same few steps, so these are sent apart ($7 to $15) and each row says which ($5). What is read is joined so that
 * the planner expects one row of it: for ten it would read tables that are small when it plans, for as long as that plan lives. The runs are
 * locked row by row for the same reason.
 */
const SETTLE = statement(
  'settle',
  (t) => `
with held as materialized (
  select i.id from (select id from unnest($2::uuid[]) as i(id) order by id) i
  cross join lateral (
    select from ${t.runs} w where w.id = i.id and w.status = '${sourceOf('advance')}' for no key update skip locked) w
), taken as materialized (
  select g.id, g.claim_no, g.output, g.has_signal,
         f.step, f.handler, f.queue, f.priority, f.wait, f.hold_back, f.not_before, f.in_place
  from held h
  join unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::int[], $6::bool[])
    as g(id, workflow_id, claim_no, output, follows, has_signal) on g.workflow_id = h.id
  left join unnest($7::int[], $8::text[], $9::text[], $10::text[], $11::int[], $12::float8[], $13::float8[], $14::timestamptz[], $15::bool[])
    as f(place, step, handler, queue, priority, wait, hold_back, not_before, in_place) on f.place = g.follows
  where ${expectOne('g.id')}
), closed as (
  update ${t.steps} s
  set status = 'completed', outcome = 'completed', finished_at = statement_timestamp(), output = g.output::json
  from taken g
  where s.id = g.id and ${statusIs('s.status', `'in_progress'`)} and s.claim_no = g.claim_no
  returning s.id, s.workflow_id, g.has_signal, g.step, g.handler, g.queue, g.priority, g.wait, g.hold_back, g.not_before, g.in_place
), opened as (
  insert into ${t.steps} (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at,
                          started_at, claim_no, worker_id, worker, app_revision, lease_expires_at)
  select c.workflow_id, c.handler, c.step, ${nextAttempt(t.steps, 'c.workflow_id', 'c.step')},
         case when c.in_place then 'in_progress' else 'scheduled' end, c.queue, c.priority, due.at, due.at,
         case when c.in_place then statement_timestamp() end, case when c.in_place then 1 else 0 end,
         case when c.in_place then $16::uuid end, case when c.in_place then $17 end, case when c.in_place then $18 end,
         case when c.in_place then statement_timestamp() + $19::float8 * interval '1 millisecond' end
  from closed c cross join lateral (
    select case when c.in_place then statement_timestamp()
      else ${dueAt({ base: 'statement_timestamp()', wait: 'c.wait', holdBack: 'c.hold_back', notBefore: 'c.not_before' })} end as at) due
  where c.step is not null
  returning id, workflow_id, attempt, status, available_at
), runs as (
  update ${t.runs} w
  set status = case when c.step is null then 'finished' when c.in_place then 'performing' else 'ready' end,
      current_step = coalesce(c.step, w.current_step), updated_at = statement_timestamp(),
      ended_at = case when c.step is null then statement_timestamp() end
  from closed c where w.id = c.workflow_id
), consumed as (
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  from closed c
  where c.has_signal and c.step is not null
    and g.workflow_id = c.workflow_id and g.claimed_by_step_id = c.id and g.status = 'claimed'
), consumed_with_run as (
  -- Which steps hold signals is not for the class to say: it may have lost them since.
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  from closed c where c.step is null and g.workflow_id = c.workflow_id and g.status = 'claimed'
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor)
  select workflow_id, id, 'step_completed', 'system' from closed
  union all select workflow_id, id, 'step_scheduled', 'system' from opened
  union all select workflow_id, id, 'step_started', 'system' from opened where status = 'in_progress'
  union all select workflow_id, null, 'finished', 'system' from closed where step is null
)
select workflow_id, null::bigint as next_id, null::int as next_attempt, null::float8 as next_due_in from closed where step is null
union all
select workflow_id, id, attempt,
       case when status = 'scheduled' then (extract(epoch from available_at - statement_timestamp()) * 1000)::float8 end
from opened`,
);

/** Settles what it can in one statement; what is missing from the answer it left alone. */
export function settle(
  connection: Connection,
  settlements: readonly Settlement[],
  worker: WorkerIdentity,
): Promise<Settled[]> {
  const follows = new Follows();
  const places = settlements.map((settlement) => follows.placeOf(settlement));
  const followers = <T>(value: (follower: Follower) => T) => padded(follows.distinct.map(value));
  return connection.run(SETTLE, [
    paddedArray(settlements.map(({ id }) => id)),
    paddedArray(settlements.map(({ workflowId }) => workflowId)),
    paddedArray(settlements.map(({ claimNo }) => claimNo)),
    padded(settlements.map(({ output }) => output)),
    paddedArray(places),
    paddedArray(settlements.map(({ hasSignal }) => String(hasSignal))),
    paddedArray(follows.distinct.map((_, place) => place)),
    followers(({ next }) => next.step),
    followers(({ next }) => next.handler),
    followers(({ next }) => next.queue),
    followers(({ next }) => next.priority),
    followers(({ next }) => next.wait),
    followers(({ next }) => next.holdBack),
    followers(({ next }) => next.notBefore),
    followers(({ inPlace }) => inPlace),
    worker.id,
    worker.label,
    worker.appRevision,
    worker.lease,
  ]);
}

interface Follower {
  readonly next: Schedule;
  readonly inPlace: boolean;
}

/** What follows the attempts of a set, each once. */
class Follows {
  readonly distinct: Follower[] = [];
  private readonly places = new Map<string, number>();

  /** Which of them follows this one; null: nothing, its run finishes. */
  placeOf({ next, inPlace }: Settlement): number | null {
    if (!next) return null;
    const { handler, step, queue, priority, wait, holdBack, notBefore } = next;
    const key = [handler, step, queue, priority, wait, holdBack, notBefore?.getTime(), inPlace].join('\0');
    let place = this.places.get(key);
    if (place === undefined) {
      place = this.distinct.push({ next, inPlace }) - 1;
      this.places.set(key, place);
    }
    return place;
  }
}
