import { createHash } from 'node:crypto';
import type { Connection } from './connection.js';
import { sizeOf } from './planned-size.js';
import { statement, statusIs, type Tables } from './statement.js';

/** Rows of one look, at most. */
const LOOK_PAGE = 200;

/**
 * What keeps leases and judges them. These are sent over a connection of their own, by whoever holds it (a thread, when it can): texts, not
 * statements of the pool.
 *
 * - `renew`: $1 worker, $2 lease in ms. Takes each row's lock and no run's, skip locked: plain, it deadlocked with every flush, which
 *   locks rows in another order. The answer lists what is still ours, and what somebody's lock kept from renewal.
 * - `renewSome`: the same for the rows $3, which were kept from it.
 * - `look`: $1 worker, $2 handlers loaded here, $3 the row to begin after. One page of rows of other workers whose lease has lapsed, as far as nobody holds them: a row whose
 *   worker lives, but whose renewal a lock kept back, gets its chance once that is gone. With them, who the server is, and the table's size.
 *
 * The worker's rows are found by the index on `worker_id` where in progress; no index names the lease (3,019 -> 1,023 renewals/s).
 */
export interface LeaseTexts {
  readonly renew: string;
  readonly renewSome: string;
  readonly look: string;
  /** For a server that does not let everybody read the timeline. */
  readonly lookWithoutTimeline: string;
}

export function leaseTexts(t: Tables): LeaseTexts {
  const renew = (some: string) => `
with mine as materialized (
  select s.id from ${t.steps} s where s.worker_id = $1::uuid and s.status = 'in_progress'${some}
  for no key update skip locked
), renewed as (
  update ${t.steps} s set lease_expires_at = statement_timestamp() + $2::float8 * interval '1 millisecond'
  where s.id = any(array(select id from mine))
  returning s.id
)
select s.id::text as id, s.claim_no, r.id is not null as renewed
from ${t.steps} s left join renewed r on r.id = s.id where s.worker_id = $1::uuid and s.status = 'in_progress'`;
  const look = (timeline: string) => `
with late as materialized (
  select s.id from ${t.steps} s
  where s.status = 'in_progress' and s.worker_id <> $1::uuid and s.lease_expires_at < statement_timestamp()
    and s.handler = any($2::text[]) and s.id > $3::bigint
), page as materialized (
  select id from late order by id limit ${LOOK_PAGE}
), lapsed as materialized (
  select s.id, s.workflow_id, s.claim_no, s.handler, s.parent_step_id is not null as member, s.job_attempt, s.lease_expires_at::text as lease
  from ${t.steps} s
  where s.id = any(array(select id from page)) and ${statusIs('s.status', `'in_progress'`)} and s.lease_expires_at < statement_timestamp()
  for no key update skip locked
)
select (extract(epoch from statement_timestamp()) * 1000)::float8 as at, pg_backend_pid() as pid,
       ${sizeOf(t.steps)} as bytes, extract(epoch from pg_postmaster_start_time())::text as started, ${timeline} as timeline,
       case when (select count(*) from late) > ${LOOK_PAGE} then (select max(id) from page)::text end as up_to,
       lapsed.id::text as id, lapsed.workflow_id, lapsed.claim_no, lapsed.handler, lapsed.member, lapsed.job_attempt, lapsed.lease
from (select 1) server left join lapsed on true`;
  return {
    renew: renew(''),
    renewSome: renew(' and s.id = any($3::bigint[])'),
    look: look('(select timeline_id::text from pg_control_checkpoint())'),
    lookWithoutTimeline: look(`''`),
  };
}

/** A row of `renew`. */
export interface HeldRow {
  readonly id: string;
  readonly claim_no: number;
  readonly renewed: boolean;
}

/** Who the server says it is. */
export interface ServerIdentity {
  /** Size of the table of steps. */
  readonly bytes: number;
  /** Its clock, in milliseconds. */
  readonly at: number;
  readonly pid: number;
  readonly started: string;
  readonly timeline: string;
}

/** With each row of `look`: its last row's id, when there are more behind it. */
export interface LookPage {
  readonly up_to: string | null;
}

/** An attempt, or a fan-out's member, that somebody takes for stalled. */
export interface SuspectRow {
  readonly id: string;
  readonly workflow_id: string;
  readonly claim_no: number;
  /** Its class; a member's job. */
  readonly handler: string;
  readonly member: boolean;
  readonly job_attempt: number;
}

/** One whose lease has lapsed. */
export interface LapsedRow extends SuspectRow {
  readonly lease: string;
}

const STALL_STATE = statement(
  'stall_state',
  (t) => `select s.worker, coalesce(s.lease_expires_at < statement_timestamp(), false) as lapsed,
         coalesce(s.started_at + $2::float8 * interval '1 millisecond' < statement_timestamp(), false) as hung
  from ${t.steps} s where s.id = $1::bigint`,
);

/** Whether an attempt's lease has lapsed, and whether it is in progress for longer than `limit` milliseconds. */
export async function stallState(
  connection: Connection,
  stepId: string,
  limit: number,
): Promise<{ worker: string | null; lapsed: boolean; hung: boolean }> {
  const [row] = await connection.run<{ worker: string | null; lapsed: boolean; hung: boolean }>(STALL_STATE, [
    stepId,
    limit,
  ]);
  return row ?? { worker: null, lapsed: false, hung: false };
}

/** One sweep at a time: a key for the tables at hand among PostgreSQL's advisory locks. */
export function sweepKey(tables: Tables): string {
  return createHash('sha256').update(`sweep\0${tables.steps}`).digest().readBigInt64BE().toString();
}
