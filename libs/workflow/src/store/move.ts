import type { ErrorRecord } from '../model/error-record.js';
import type { EventName, RunStatus, StepOutcome, StepStatus } from '../model/states.js';
import type { Connection } from './connection.js';
import { dueAt, nextAttempt, type Schedule } from './schedule.js';
import { statement, statusIs } from './statement.js';

/** An event of a move, and which row it is about. */
export interface MoveEvent {
  readonly name: EventName;
  readonly about: 'run' | 'closed' | 'opened' | 'kept';
  readonly actor: string;
  readonly reason?: string | null;
  readonly details?: Record<string, unknown> | null;
}

/**
 * What becomes of the open row. A pause stops a wait's clock: the deadline is put aside, and comes back later by the pause's
 * length. `wake` and `time_out` make a waiting row a scheduled one, due at once.
 */
interface Keep {
  readonly id: string;
  readonly due: 'never' | 'as_scheduled' | 'now' | Date | 'stop_clock' | 'start_clock' | 'wake' | 'time_out';
}

const OF_WAITING_ROWS = ['stop_clock', 'start_clock', 'wake', 'time_out'];

/** One change of one run, under its lock: everything it writes. */
export interface Change {
  readonly run: { readonly id: string; readonly from: RunStatus; readonly to: RunStatus };
  /** An attempt that ends. */
  readonly close?: {
    readonly id: string;
    readonly from: StepStatus;
    readonly to: StepStatus;
    readonly outcome: StepOutcome | null;
    /** As stored; left as it is when not given. */
    readonly output?: string | null;
    readonly error?: ErrorRecord | null;
    /** Of the process that ended it, when its body never began there. */
    readonly appRevision?: string | null;
  };
  /** The next attempt. `after`: the row whose end its wait counts from; not given: from now. */
  readonly open?: { readonly schedule: Schedule; readonly after?: string };
  /** The open row stays: a scheduled one is due otherwise, a waiting one is woken or has its deadline stopped or started. */
  readonly keep?: Keep;
  /** Signals that are used up: those the closed row's step holds, or all that the run's steps hold. */
  readonly consume?: 'step' | 'run';
  readonly events: readonly MoveEvent[];
}

/** What came of it. */
export interface Changed {
  readonly openedId: string | null;
  readonly queue: string | null;
  readonly priority: number | null;
  /** Milliseconds until the row that was opened or kept is due; null when none may be claimed. */
  readonly dueIn: number | null;
  /** The attempt that ended, and how long its body took; null: it never began. */
  readonly closed: { readonly step_name: string; readonly attempt: number; readonly ran_ms: number | null } | null;
}

/**
 * One change in one statement. The caller holds the run's lock, and read what it decided on in a statement sent after
 * the one that took it; each part repeats its condition all the same, and `applyChange` refuses a change of which a part was lost.
 *
 * `opened` reads `closed` to its end: the index "one open row a run" is checked row by row, so the old row must be closed first.
 *
 * Parameters say their type wherever they stand: from one beside a varchar column and beside a text one PostgreSQL deduces two,
 * and refuses the statement.
 */
const CHANGE = statement(
  'change',
  (t) => `
with closed as (
  update ${t.steps} s
  set status = $6::text, outcome = $7::text, finished_at = statement_timestamp(), output = coalesce($8::json, s.output),
      app_revision = coalesce(s.app_revision, $31::text), error_class = $9::text, error_message = $10::text, error_backtrace = $11::text, error_causes = $12::json
  where s.id = $4::bigint and ${statusIs('s.status', '$5::text')}
  returning s.id, s.step_name, s.attempt, (extract(epoch from s.finished_at - s.started_at) * 1000)::float8 as ran_ms
), opened as (
  insert into ${t.steps} (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at)
  select $1::uuid, $13::text, $14::text, ${nextAttempt(t.steps, '$1::uuid', '$14::text')}, 'scheduled', $15::text, $16::int, due.at,
         case when $3::text <> 'paused' then due.at end
  from (select count(*) from closed) closed_first,
       (select ${dueAt({
         base: `coalesce((select p.finished_at from ${t.steps} p where p.id = $20::bigint), statement_timestamp())`,
         wait: '$17',
         holdBack: '$18',
         notBefore: '$19',
       })} as at) due
  where $14::text is not null
  returning id, queue, priority, available_at
), kept as (
  update ${t.steps} s
  set status = case when $22::text in ('wake', 'time_out') then 'scheduled' else s.status end,
      timed_out = s.timed_out or $22::text = 'time_out',
      scheduled_at = case when $22::text in ('now', 'wake', 'time_out') then statement_timestamp()
                          when $22::text = 'at' then $23::timestamptz
                          when $22::text = 'as_scheduled' then greatest(s.scheduled_at, statement_timestamp())
                          else s.scheduled_at end,
      available_at = case when $22::text = 'now' or $22::text in ('wake', 'time_out') and $3::text <> 'paused' then statement_timestamp()
                          when $22::text = 'at' then $23::timestamptz
                          when $22::text = 'as_scheduled' then greatest(s.scheduled_at, statement_timestamp())
                          when $22::text in ('stop_clock', 'start_clock') then s.available_at end,
      timeout_at = case when $22::text = 'start_clock' then s.stopped_timeout_at + (statement_timestamp()
                          - (select p.paused_at from ${t.runs} p where p.id = $1::uuid)) end,
      stopped_timeout_at = case when $22::text = 'stop_clock' then s.timeout_at end
  where s.id = $21::bigint and ${statusIs('s.status', `case when $22::text = any($30::text[]) then 'waiting' else 'scheduled' end`)}
  returning s.id, s.queue, s.priority, s.available_at
), consumed as (
  update ${t.signals} g set status = 'consumed', consumed_at = statement_timestamp()
  where g.workflow_id = $1::uuid and g.status = 'claimed' and $29::text is not null
    and ($29::text = 'run' or g.claimed_by_step_id in (
      select p.id from ${t.steps} p join ${t.steps} c on c.id = $4::bigint
      where p.workflow_id = $1::uuid and p.step_name = c.step_name and p.member_index = -1))
), run as (
  update ${t.runs} w
  set status = $3::text, current_step = coalesce($14::text, w.current_step), updated_at = statement_timestamp(),
      paused_at = case when $3::text = 'paused' then coalesce(w.paused_at, statement_timestamp()) end,
      ended_at = case when $3::text in ('finished', 'cancelled') then coalesce(w.ended_at, statement_timestamp()) end
  where w.id = $1::uuid and w.status = $2::text
  returning w.id
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, reason, details)
  select $1::uuid, case e.about when 'closed' then $4::bigint when 'opened' then (select id from opened)
                                when 'kept' then $21::bigint end,
         e.name, e.actor, e.reason, e.details::json
  from unnest($24::text[], $25::text[], $26::text[], $27::text[], $28::text[])
    with ordinality as e(name, about, actor, reason, details, place)
  order by e.place
)
select (select count(*) from run)::int as run, (select count(*) from closed)::int as closed,
       (select count(*) from kept)::int as kept, opened.id as opened_id,
       coalesce(opened.queue, kept.queue) as queue, coalesce(opened.priority, kept.priority) as priority,
       (extract(epoch from coalesce(opened.available_at, kept.available_at) - statement_timestamp()) * 1000)::float8 as due_in,
       closed.step_name as closed_step, closed.attempt as closed_attempt, closed.ran_ms
from (select 1) one left join opened on true left join kept on true left join closed on true`,
);

interface ChangeRow {
  run: number;
  closed: number;
  kept: number;
  opened_id: string | null;
  queue: string | null;
  priority: number | null;
  due_in: number | null;
  closed_step: string | null;
  closed_attempt: number | null;
  ran_ms: number | null;
}

/** Applies a change under the run's lock. Throws when what it was decided on no longer holds: that would be our mistake. */
export async function applyChange(connection: Connection, change: Change): Promise<Changed> {
  const { run, close, open, keep, consume, events } = change;
  const error = close?.error;
  const [row] = await connection.run<ChangeRow>(CHANGE, [
    run.id,
    run.from,
    run.to,
    close?.id ?? null,
    close?.from ?? null,
    close?.to ?? null,
    close?.outcome ?? null,
    close?.output ?? null,
    error?.class ?? null,
    error?.message ?? null,
    error?.backtrace ?? null,
    error?.causes.length ? JSON.stringify(error.causes) : null,
    open?.schedule.handler ?? null,
    open?.schedule.step ?? null,
    open?.schedule.queue ?? null,
    open?.schedule.priority ?? null,
    open?.schedule.wait ?? null,
    open?.schedule.holdBack ?? null,
    open?.schedule.notBefore ?? null,
    open?.after ?? null,
    keep?.id ?? null,
    keep ? (keep.due instanceof Date ? 'at' : keep.due) : null,
    keep?.due instanceof Date ? keep.due : null,
    events.map((event) => event.name),
    events.map((event) => event.about),
    events.map((event) => event.actor),
    events.map((event) => event.reason ?? null),
    events.map((event) => (event.details ? JSON.stringify(event.details) : null)),
    consume ?? null,
    OF_WAITING_ROWS,
    close?.appRevision ?? null,
  ]);
  if (
    row!.run !== 1 ||
    (close && row!.closed !== 1) ||
    (keep && row!.kept !== 1) ||
    (open && row!.opened_id === null)
  ) {
    throw new Error(`Workflow ${run.id} changed under its own lock (${run.from} -> ${run.to}): ${JSON.stringify(row)}`);
  }
  const { closed_step: step_name, closed_attempt: attempt, ran_ms } = row!;
  return {
    openedId: row!.opened_id,
    queue: row!.queue,
    priority: row!.priority,
    dueIn: row!.due_in,
    closed: step_name === null ? null : { step_name, attempt: attempt!, ran_ms },
  };
}
