import type { Connection } from './connection.js';
import { statement, statusIs } from './statement.js';

/** When a wait is over: at a moment, after so many milliseconds, or never. */
export type Deadline = { readonly at: Date } | { readonly after: number } | null;

function deadlineParameters(deadline: Deadline): [Date | null, number | null] {
  if (deadline === null) return [null, null];
  return 'at' in deadline ? [storable(deadline.at), null] : [null, deadline.after];
}

/** A Date reaches further back than a timestamptz. Whatever lies before the database's own times has passed. */
function storable(at: Date): Date {
  return at.getTime() < 0 ? new Date(0) : at;
}

/** The deadline as SQL, never before now: `at` is a timestamptz expression, `after` one of milliseconds. */
function deadlineAt(at: string, after: string): string {
  return `case when ${at}::timestamptz is not null then greatest(${at}::timestamptz, statement_timestamp())
               when ${after}::float8 is not null then statement_timestamp() + ${after}::float8 * interval '1 millisecond' end`;
}

const PARK = statement(
  'park',
  (t) => `
with parked as (
  update ${t.steps} s
  set status = 'waiting', available_at = null, wait_for = $3, waiting_since = statement_timestamp(),
      timeout_at = ${deadlineAt('$4', '$5')}
  where s.id = $1::bigint and ${statusIs('s.status', `'scheduled'`)} returning s.id
), runs as (
  update ${t.runs} w set status = 'waiting', updated_at = statement_timestamp()
  where w.id = $2::uuid and exists (select from parked)
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, details)
  select $2::uuid, id, 'step_waiting', 'system', json_build_object('wait_for', $3::text) from parked
)
select s.id, (extract(epoch from ${deadlineAt('$4', '$5')} - statement_timestamp()) * 1000)::float8 as due_in from parked s`,
);

/** Parks a scheduled row on its signal, run and all. Returns in how many milliseconds its deadline is; null: it has none. */
export async function park(
  connection: Connection,
  row: { id: string; workflowId: string },
  waitFor: string,
  deadline: Deadline,
): Promise<number | null> {
  const [parked] = await connection.run<{ due_in: number | null }>(PARK, [
    row.id,
    row.workflowId,
    waitFor,
    ...deadlineParameters(deadline),
  ]);
  if (!parked) throw new Error(`Step ${row.id} of workflow ${row.workflowId} could not be parked under its own lock`);
  return parked.due_in;
}

const MOVE_DEADLINE = statement(
  'move_deadline',
  (t) => `
update ${t.steps} s
set timeout_at = case
  when $2::timestamptz > greatest(statement_timestamp(), s.timeout_at) then $2::timestamptz
  when $3::float8 is not null then coalesce(s.timeout_at, statement_timestamp()) + interval '1 millisecond' * ($3::float8
    * (greatest(floor(extract(epoch from statement_timestamp() - s.timeout_at) * 1000 / $3::float8), 0) + 1)) end
where s.id = $1::bigint and ${statusIs('s.status', `'waiting'`)}
returning (extract(epoch from s.timeout_at - statement_timestamp()) * 1000)::float8 as due_in`,
);

/**
 * The next deadline of a wait that goes on after a notice: a date ahead, the first multiple of a period (counted from the deadline
 * that passed) that lies ahead, or none. A deadline that is applied before its time, as a test does, counts as passed. Returns
 * in how many milliseconds it is.
 */
export async function moveDeadline(
  connection: Connection,
  stepId: string,
  next: { readonly at: Date } | { readonly every: number } | null,
): Promise<number | null> {
  const at = next && 'at' in next ? next.at : null;
  const every = next && 'every' in next ? next.every : null;
  const [moved] = await connection.run<{ due_in: number | null }>(MOVE_DEADLINE, [stepId, at && storable(at), every]);
  return moved?.due_in ?? null;
}

/** Deadlines of one look, at most. */
export const LARGEST_LOOK = 100;

/** Class by class: however many deadlines of classes that are not loaded here lie before ours, they are not walked through. */
const PASSED = statement(
  'passed_deadlines',
  (t) => `select passed.id, passed.workflow_id from unnest($1::text[]) loaded(handler) cross join lateral (
    select s.id, s.workflow_id, s.timeout_at from ${t.steps} s
    where s.status = 'waiting' and s.timeout_at is not null and s.handler = loaded.handler
      and s.timeout_at <= statement_timestamp() and s.id <> all($2::bigint[])
    order by s.timeout_at limit ${LARGEST_LOOK}) passed
  order by passed.timeout_at limit ${LARGEST_LOOK}`,
);

/** Waits whose deadline has passed, earliest first, of the classes named; without those just tried in vain. */
export function passedDeadlines(
  connection: Connection,
  handlers: readonly string[],
  tried: readonly string[],
): Promise<{ id: string; workflow_id: string }[]> {
  return connection.run(PASSED, [handlers, tried]);
}

const NEXT = statement(
  'next_deadline',
  (t) => `select (extract(epoch from min(next.timeout_at) - statement_timestamp()) * 1000)::float8 as due_in
  from unnest($1::text[]) loaded(handler) cross join lateral (
    select s.timeout_at from ${t.steps} s
    where s.status = 'waiting' and s.timeout_at is not null and s.handler = loaded.handler and s.id <> all($2::bigint[])
    order by s.timeout_at limit 1) next`,
);

/** Milliseconds until the next deadline of these classes, without those just tried; negative when it has passed since; null: there is none. */
export async function nextDeadlineIn(
  connection: Connection,
  handlers: readonly string[],
  tried: readonly string[],
): Promise<number | null> {
  return (await connection.run<{ due_in: number | null }>(NEXT, [handlers, tried]))[0]?.due_in ?? null;
}
