import { sourceOf } from '../model/states.js';
import type { WorkerIdentity } from './claim.js';
import type { Connection } from './connection.js';
import { dueAt, nextAttempt, type Schedule } from './schedule.js';
import { padded, paddedArray, statement, statusIs } from './statement.js';

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
 * Most rows of a set go on to the same few steps, so these are sent apart ($6 to $14) and each row says which ($5). Nothing is joined
 * that grows with the set on both sides: 40 rows take 7 % fewer instructions than as one table of twelve columns.
 */
const SETTLE = statement(
  'settle',
  (t) => `
with held as materialized (
  select w.id from ${t.runs} w where w.id = any($2::uuid[]) and w.status = '${sourceOf('advance')}'
  order by w.id for no key update skip locked
), closed as (
  update ${t.steps} s
  set status = 'completed', outcome = 'completed', finished_at = statement_timestamp(), output = g.output::json
  from unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::int[]) as g(id, workflow_id, claim_no, output, follows)
  where s.id = g.id and ${statusIs('s.status', `'in_progress'`)} and s.claim_no = g.claim_no
    and g.workflow_id = any(array(select id from held))
  returning s.id, s.workflow_id, g.follows
), opened as (
  insert into ${t.steps} (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at,
                          started_at, claim_no, worker_id, worker, app_revision, lease_expires_at)
  select c.workflow_id, f.handler, f.step, ${nextAttempt(t.steps, 'c.workflow_id', 'f.step')},
         case when f.in_place then 'in_progress' else 'scheduled' end, f.queue, f.priority, due.at, due.at,
         case when f.in_place then statement_timestamp() end, case when f.in_place then 1 else 0 end,
         case when f.in_place then $15::uuid end, case when f.in_place then $16 end, case when f.in_place then $17 end,
         case when f.in_place then statement_timestamp() + $18::float8 * interval '1 millisecond' end
  from closed c
  join unnest($6::int[], $7::text[], $8::text[], $9::text[], $10::int[], $11::float8[], $12::float8[], $13::timestamptz[], $14::bool[])
    as f(place, step, handler, queue, priority, wait, hold_back, not_before, in_place) on f.place = c.follows
  cross join lateral (
    select case when f.in_place then statement_timestamp()
      else ${dueAt({ base: 'statement_timestamp()', wait: 'f.wait', holdBack: 'f.hold_back', notBefore: 'f.not_before' })} end as at) due
  returning id, workflow_id, step_name, attempt, status, available_at
), after as (
  select workflow_id, null::bigint as id, null as step_name, null::int as attempt, 'finished' as status, null::timestamptz as available_at
  from closed where follows is null
  union all
  select workflow_id, id, step_name, attempt, status, available_at from opened
), runs as (
  update ${t.runs} w
  set status = case a.status when 'finished' then 'finished' when 'in_progress' then 'performing' else 'ready' end,
      current_step = coalesce(a.step_name, w.current_step), updated_at = statement_timestamp(),
      ended_at = case when a.status = 'finished' then statement_timestamp() end
  from after a where w.id = a.workflow_id
), consumed as (
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  where g.workflow_id = any(array(select unnest($19::uuid[]))) and g.status = 'claimed' and g.claimed_by_step_id = any(array(select c.id from closed c))
), consumed_with_run as (
  -- Which steps hold signals is not for the class to say: it may have lost them since.
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  where g.workflow_id = any(array(select c.workflow_id from closed c where c.follows is null)) and g.status = 'claimed'
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor)
  select workflow_id, id, 'step_completed', 'system' from closed
  union all select workflow_id, id, 'step_scheduled', 'system' from opened
  union all select workflow_id, id, 'step_started', 'system' from opened where status = 'in_progress'
  union all select workflow_id, null, 'finished', 'system' from closed where follows is null
)
select a.workflow_id, a.id as next_id, a.attempt as next_attempt,
       case when a.status = 'scheduled' then (extract(epoch from a.available_at - statement_timestamp()) * 1000)::float8 end as next_due_in
from after a`,
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
    paddedArray(settlements.filter(({ next, hasSignal }) => next && hasSignal).map(({ workflowId }) => workflowId)),
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
