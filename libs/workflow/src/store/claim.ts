import { sourceOf } from '../model/states.js';
import type { Connection } from './connection.js';
import { laneWalk } from './lane-walk.js';
import { sizeOf } from './planned-size.js';
import type { SignalRow } from './signals.js';
import { expectOne, padded, statement, statusIs } from './statement.js';
import { ROW_KEY } from './step-key.js';

/** Where due rows are looked for, in this order. */
export interface Lane {
  readonly queue: string;
  readonly priority: number;
}

/** Who claims. */
export interface WorkerIdentity {
  /** New for each start of a process: `hostname:pid` repeats in containers. */
  readonly id: string;
  /** `hostname:pid`, for people. */
  readonly label: string;
  readonly appRevision: string | null;
  /** Milliseconds a claim is good for without renewal. */
  readonly lease: number;
}

/** A fan-out's member that is ours now. */
export interface ClaimedMember {
  readonly id: string;
  readonly workflow_id: string;
  /** Its job. */
  readonly handler: string;
  readonly step_name: string;
  readonly claim_no: number;
  /** 1 for its first try. */
  readonly job_attempt: number;
  /** As stored. */
  readonly job_args: unknown;
  readonly workflow_class: string;
}

/** A plain attempt that is ours now. */
export interface ClaimedRow {
  readonly id: string;
  readonly workflow_id: string;
  readonly handler: string;
  readonly step_name: string;
  readonly attempt: number;
  readonly claim_no: number;
  readonly queue: string;
  readonly priority: number;
  readonly arguments: unknown;
  readonly subject_type: string | null;
  readonly subject_id: string | null;
  /** The signal that woke it, when it is a gated step's. */
  readonly signal: SignalRow | null;
}

export interface Claims {
  readonly plain: ClaimedRow[];
  readonly members: ClaimedMember[];
  /** Due rows that need a transaction of their own: nothing was written for them. */
  readonly guarded: { readonly id: string; readonly workflowId: string }[];
  /** Milliseconds until the earliest row that was not taken is due; negative when it is due and somebody holds it; null: none. */
  readonly nextDueIn: number | null;
}

/** Rows of one claim, at most. */
export const LARGEST_CLAIM = 128;

/**
 * Rows of a lane that are read, at most, to find the next one that will be due here. What lies behind more rows than that of classes not loaded here is found
 * by the poll: a million of them, due next month, would be walked through at each claim.
 */
const LOOK_AHEAD = 100;

/**
 * The claim, shaped so that the planner has no choice (docs/decisions/0004-claim.md): lanes as parameters, rows pulled in
 * order and locked one by one in LATERAL, a literal LIMIT, arrays instead of joins. Nothing is sorted, so claimers do not all
 * go for the same rows: each takes the next that is free.
 *
 * The literal LIMIT is what the plan is made for; the free slots ($10) bound it from outside, where they change nothing: for a
 * parameter alone the generic plan would guess a tenth of the table and hash-join it whole. And a gated step's signal is looked for by a
 * subquery with a limit: for an `exists` all signals would be read into a hash.
 *
 * Locks: the run of each row, then (a member) the row alone, skip locked: it waits for nobody. Only the locked row is read
 * again after a lost race, so the update of the step repeats its whole condition.
 */
const CLAIM = statement(
  'claim',
  (t) => `
with held as materialized (
  select * from (
  select s.id, s.workflow_id, s.parent_step_id is null as is_step,
         s.parent_step_id is not null or s.key = any($4::text[]) or (
           s.key = any($11::text[]) and not s.timed_out and coalesce((
             select true from ${t.signals} g
             where g.workflow_id = s.workflow_id and g.status = 'claimed' and g.claimed_by_step_id = s.id limit 1), false)) as plain
  from unnest($1::text[], $2::int[]) lane(queue, priority)
  cross join lateral (
    select s.id, s.workflow_id, s.parent_step_id,
           ${ROW_KEY} as key, s.timed_out
    from ${t.steps} s
    where s.status = 'scheduled' and s.available_at is not null
      and s.queue = lane.queue and s.priority = lane.priority and s.available_at <= statement_timestamp()
      and s.handler = any($3::text[]) and s.id <> all($5::bigint[])
    order by s.available_at, s.id limit 1000) s
  left join lateral (
    select true as ok from ${t.runs} w
    where s.parent_step_id is null and w.id = s.workflow_id and w.status = '${sourceOf('claim')}'
    for no key update skip locked) run on true
  left join lateral (
    select true as ok from ${t.steps} m
    where s.parent_step_id is not null and m.id = s.id and ${statusIs('m.status', `'scheduled'`)}
    for no key update skip locked) member on true
  where coalesce(run.ok, member.ok)
  limit ${LARGEST_CLAIM}) free limit $10::int
), claimed as (
  update ${t.steps} s
  set status = 'in_progress', started_at = statement_timestamp(), claim_no = s.claim_no + 1, worker_id = $6, worker = $7,
      job_attempt = s.job_attempt + (s.parent_step_id is not null)::int,
      app_revision = $8, lease_expires_at = statement_timestamp() + $9::float8 * interval '1 millisecond'
  from held h
  where h.plain and ${expectOne('h.id')} and s.id = h.id
    -- Always so. A join that nothing but the index decides is thought to be looked up twice, and the small table read whole instead.
    and (s.parent_step_id is null) = h.is_step
    and ${statusIs('s.status', `'scheduled'`)} and s.available_at <= statement_timestamp()
  returning s.id, s.workflow_id, s.parent_step_id, s.handler, s.step_name, s.attempt, s.claim_no, s.queue, s.priority,
            s.job_attempt, s.job_args, ${ROW_KEY} = any($11::text[]) as gated
), runs as (
  update ${t.runs} w set status = 'performing', updated_at = statement_timestamp()
  from claimed c where c.parent_step_id is null and w.id = c.workflow_id
  returning w.id, w.arguments, w.subject_type, w.subject_id
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor)
  select workflow_id, id, 'step_started', 'system' from claimed where parent_step_id is null
)
select h.id, h.workflow_id, h.plain, c.id as claimed_id, c.handler, c.step_name, c.attempt, c.claim_no, c.queue, c.priority,
       r.arguments, r.subject_type, r.subject_id, c.parent_step_id, c.job_attempt, c.job_args,
       case when c.parent_step_id is not null
            then (select w.workflow_class from ${t.runs} w where w.id = c.workflow_id) end as workflow_class,
       g.id as signal_id, g.name as signal_name, g.payload as signal_payload, g.idempotency_key as signal_key,
       (extract(epoch from x.next_at - statement_timestamp()) * 1000)::float8 as next_due_in
from (select min(d.available_at) as next_at
      from unnest($1::text[], $2::int[]) lane(queue, priority)
      cross join lateral (
        select ahead.available_at from (
          select s.available_at, s.handler from ${t.steps} s
          where s.status = 'scheduled' and s.available_at is not null
            and s.queue = lane.queue and s.priority = lane.priority
            and s.id <> all(array(select id from held)) and s.id <> all($5::bigint[])
          order by s.available_at, s.id limit ${LOOK_AHEAD}) ahead
        where ahead.handler = any($3::text[]) order by ahead.available_at limit 1) d) x
left join held h on true left join claimed c on c.id = h.id left join runs r on r.id = c.workflow_id
left join lateral (
  select g.id, g.name, g.payload, g.idempotency_key from ${t.signals} g
  where c.gated and g.workflow_id = c.workflow_id and g.status = 'claimed' and g.claimed_by_step_id = c.id
  order by g.id limit 1) g on true`,
);

/** What of the due rows this process may take. */
export interface ClaimFilter {
  readonly lanes: readonly Lane[];
  /** Names of the classes and jobs loaded here. */
  readonly handlers: readonly string[];
  /** `stepKey` of the steps that are plain. */
  readonly plainSteps: readonly string[];
  /** `stepKey` of the steps that are plain once a signal woke them. */
  readonly gatedSteps: readonly string[];
  /** Guarded rows that this process has in hand. */
  readonly inHand: readonly string[];
}

type Row = ClaimedRow &
  ClaimedMember & {
    plain: boolean;
    claimed_id: string | null;
    parent_step_id: string | null;
    next_due_in: number | null;
    signal_id: string | null;
    signal_name: string;
    signal_payload: unknown;
    signal_key: string | null;
  };

/** Takes due rows for at most `free` slots. `full`: there may be more. */
export async function claim(
  connection: Connection,
  filter: ClaimFilter,
  worker: WorkerIdentity,
  free: number,
): Promise<Claims & { full: boolean }> {
  const limit = Math.min(free, LARGEST_CLAIM);
  const rows = await connection.run<Row>(CLAIM, [
    padded(filter.lanes.map((lane) => lane.queue)),
    padded(filter.lanes.map((lane) => lane.priority)),
    padded(filter.handlers),
    padded(filter.plainSteps),
    // Not padded: `id <> all(…)` is never true once a null is among them.
    [...filter.inHand],
    worker.id,
    worker.label,
    worker.appRevision,
    worker.lease,
    limit,
    padded(filter.gatedSteps),
  ]);
  const held = rows.filter((row) => row.id !== null);
  return {
    plain: held
      .filter((row) => row.claimed_id !== null && row.parent_step_id === null)
      .map((row) => ({ ...row, signal: signalOf(row) })),
    members: held.filter((row) => row.parent_step_id !== null),
    guarded: held.filter((row) => !row.plain).map((row) => ({ id: row.id, workflowId: row.workflow_id })),
    nextDueIn: rows[0]?.next_due_in ?? null,
    full: held.length === limit,
  };
}

function signalOf(row: Row): SignalRow | null {
  if (row.signal_id === null) return null;
  return {
    id: row.signal_id,
    workflow_id: row.workflow_id,
    name: row.signal_name,
    payload: row.signal_payload,
    idempotency_key: row.signal_key,
    status: 'claimed',
    claimed_by_step_id: row.id,
  };
}

/** The lanes that have rows now, by a loose walk over the claim index. Apart from the claim: its estimate alone would start the JIT. */
const LANES = statement(
  'lanes',
  (t) => `
with recursive ${laneWalk(t)}
select queue, priority, ${sizeOf(t.steps)} as bytes from lane limit 1000`,
);

/** Every lane in which rows are scheduled. */
export async function lanesInUse(connection: Connection): Promise<Lane[]> {
  const lanes = await connection.run<Lane & { bytes: number }>(LANES, []);
  if (lanes.length) connection.measured(lanes[0]!.bytes);
  return lanes;
}

const OWNED = statement(
  'owned',
  (
    t,
  ) => `select s.id, s.workflow_id, s.parent_step_id, s.handler, s.step_name, s.attempt, s.claim_no, s.queue, s.priority,
         s.job_attempt, s.job_args, w.arguments, w.subject_type, w.subject_id, w.workflow_class
  from ${t.steps} s join ${t.runs} w on w.id = s.workflow_id
  where s.id = any($1::bigint[]) and s.worker_id = $2::uuid and ${statusIs('s.status', `'in_progress'`)}`,
);

/** Rows of these that are in progress under this worker's claim: it may not know, when the claim's answer was lost. */
export async function ownedRows(
  connection: Connection,
  ids: readonly string[],
  worker: WorkerIdentity,
): Promise<{ plain: ClaimedRow[]; members: ClaimedMember[] }> {
  const rows = await connection.run<Row>(OWNED, [ids, worker.id]);
  return {
    plain: rows.filter((row) => row.parent_step_id === null).map((row) => ({ ...row, signal: null })),
    members: rows.filter((row) => row.parent_step_id !== null),
  };
}
