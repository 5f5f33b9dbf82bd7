import type { ErrorRecord } from '../model/error-record.js';
import type { Connection } from './connection.js';
import { padded, statement, statusIs } from './statement.js';

/** How a member's try ended. */
export interface MemberEnd {
  readonly id: string;
  readonly claimNo: number;
  /** `failed`: it spent its attempts and is dead-lettered. */
  readonly status: 'completed' | 'scheduled' | 'failed';
  /** Milliseconds until the next try, for `scheduled`. */
  readonly wait: number;
  readonly error: ErrorRecord | null;
  /** Ends it only if its lease has lapsed, or if it is in progress for longer than the stall threshold. */
  readonly only?: 'lapsed' | 'hung';
}

/**
 * Ends many members' tries. Locks their own rows only, in order of id; a row that is no longer ours is missing from the answer.
 */
const SETTLE = statement(
  'settle_members',
  (t) => `
with given as materialized (
  select * from unnest($1::bigint[], $2::int[], $3::text[], $4::float8[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $9::text[])
    as g(id, claim_no, status, wait, error_class, error_message, error_backtrace, error_causes, only_if)
), held as materialized (
  select m.id from ${t.steps} m where m.id = any($1::bigint[]) and ${statusIs('m.status', `'in_progress'`)}
  order by m.id for no key update
)
update ${t.steps} s
set status = g.status,
    finished_at = case when g.status <> 'scheduled' then statement_timestamp() end,
    scheduled_at = case when g.status = 'scheduled' then due.at else s.scheduled_at end,
    available_at = case when g.status = 'scheduled' then due.at else s.available_at end,
    error_class = g.error_class, error_message = g.error_message, error_backtrace = g.error_backtrace,
    error_causes = g.error_causes::json
from given g join held h on h.id = g.id
cross join lateral (select statement_timestamp() + g.wait * interval '1 millisecond' as at) due
where s.id = g.id and ${statusIs('s.status', `'in_progress'`)} and s.claim_no = g.claim_no
  and case g.only_if when 'lapsed' then s.lease_expires_at < statement_timestamp()
                     when 'hung' then s.started_at + $10::float8 * interval '1 millisecond' < statement_timestamp() else true end
returning s.id, s.parent_step_id, s.workflow_id, s.status, s.queue, s.priority`,
);

export interface SettledMember {
  readonly id: string;
  readonly parent_step_id: string;
  readonly workflow_id: string;
  readonly status: MemberEnd['status'];
  readonly queue: string;
  readonly priority: number;
}

/** @param stallThreshold milliseconds, for those that are to end only if they hang */
export function settleMembers(
  connection: Connection,
  ends: readonly MemberEnd[],
  stallThreshold: number,
): Promise<SettledMember[]> {
  const column = <T>(value: (end: MemberEnd) => T) => padded(ends.map(value));
  return connection.run(SETTLE, [
    column(({ id }) => id),
    column(({ claimNo }) => claimNo),
    column(({ status }) => status),
    column(({ wait }) => wait),
    column(({ error }) => error?.class ?? null),
    column(({ error }) => error?.message ?? null),
    column(({ error }) => error?.backtrace ?? null),
    column(({ error }) => (error?.causes.length ? JSON.stringify(error.causes) : null)),
    column(({ only }) => only ?? null),
    stallThreshold,
  ]);
}

const STORED = statement(
  'stored_ends',
  (t) => `select s.id, s.parent_step_id, s.workflow_id, s.status, s.queue, s.priority
  from unnest($1::bigint[], $2::int[], $3::text[]) as g(id, claim_no, status) join ${t.steps} s on s.id = g.id
  where s.claim_no = g.claim_no and s.status = g.status and s.parent_step_id is not null`,
);

/** Those of the ends that are stored: sent before, and the answer was lost. */
export function storedEnds(connection: Connection, ends: readonly MemberEnd[]): Promise<SettledMember[]> {
  const column = <T>(value: (end: MemberEnd) => T) => padded(ends.map(value));
  return connection.run(STORED, [
    column(({ id }) => id),
    column(({ claimNo }) => claimNo),
    column(({ status }) => status),
  ]);
}

const COMPLETE = statement(
  'complete_members',
  (t) => `update ${t.steps} m
  set status = 'completed', finished_at = statement_timestamp(), started_at = coalesce(m.started_at, statement_timestamp())
  where m.parent_step_id = $1::bigint and m.status in ('scheduled', 'in_progress')`,
);

/** Marks the open members of a batch as completed, without running them: for tests of an application. */
export async function completeMembers(connection: Connection, parentId: string): Promise<void> {
  await connection.run(COMPLETE, [parentId]);
}
