import type { Connection } from './connection.js';
import { dueAt, type Schedule } from './schedule.js';
import { statement } from './statement.js';
import { RUN_COLUMNS, type RunRow } from './run.js';

/** What one `start` stores. */
export interface NewRun {
  readonly id: string;
  readonly subjectType: string | null;
  readonly subjectId: string | null;
  /** As stored: JSON text. */
  readonly args: string;
  readonly idempotencyKey: string | null;
  readonly actor: string;
  readonly reason: string | null;
}

/** What the runs of one call share. */
export interface StartOf {
  readonly workflow: string;
  readonly digest: string;
  readonly first: Schedule;
  readonly rerunOf: string | null;
}

/**
 * Runs, their first rows and events in one statement. A run whose key or whose subject's slot is taken is left out, and waits
 * for a start of the same subject that has not committed yet; nothing is raised, so the caller's transaction stays usable.
 * Rows go in the order given.
 */
const INSERT = statement(
  'start',
  (t) => `
with given as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
    as g(id, subject_type, subject_id, arguments, idempotency_key, actor, reason, place)
), runs as (
  insert into ${t.runs} (id, workflow_class, subject_type, subject_id, arguments, status, current_step,
                         idempotency_key, definition_digest, rerun_of)
  select id, $8, subject_type, subject_id, arguments::json, 'ready', $10, idempotency_key, $9, $16::uuid
  from given order by place
  on conflict do nothing
  returning id
), first as (
  insert into ${t.steps} (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at)
  select runs.id, $8, $10, 1, 'scheduled', $11, $12::int, due.at, due.at
  from runs, (select ${dueAt({ base: 'statement_timestamp()', wait: '$13', holdBack: '$14', notBefore: '$15' })} as at) due
  returning id, workflow_id, scheduled_at
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, reason, details)
  select f.workflow_id, null, 'started', g.actor, g.reason,
         case when $16::uuid is not null then json_build_object('rerun_of', $16::uuid) end
  from first f join given g on g.id = f.workflow_id
  union all
  select f.workflow_id, f.id, 'step_scheduled', g.actor, null, null from first f join given g on g.id = f.workflow_id
)
select f.workflow_id as id, (extract(epoch from f.scheduled_at - statement_timestamp()) * 1000)::float8 as due_in from first f`,
);

/** Inserts what may start; returns the ids that did, and in how many milliseconds their first step is due. */
export function insertRuns(
  connection: Connection,
  { workflow, digest, first, rerunOf }: StartOf,
  runs: readonly NewRun[],
): Promise<{ id: string; due_in: number }[]> {
  return connection.run(INSERT, [
    runs.map((run) => run.id),
    runs.map((run) => run.subjectType),
    runs.map((run) => run.subjectId),
    runs.map((run) => run.args),
    runs.map((run) => run.idempotencyKey),
    runs.map((run) => run.actor),
    runs.map((run) => run.reason),
    workflow,
    digest,
    first.step,
    first.queue,
    first.priority,
    first.wait,
    first.holdBack,
    first.notBefore,
    rerunOf,
  ]);
}

const BY_KEY = statement(
  'run_by_key',
  (t) => `select ${RUN_COLUMNS} from ${t.runs} w where w.workflow_class = $1 and w.idempotency_key = $2`,
);

/** The run that has this key, whatever its status. */
export async function runByKey(connection: Connection, workflow: string, key: string): Promise<RunRow | undefined> {
  return (await connection.run<RunRow>(BY_KEY, [workflow, key]))[0];
}

// Its class is written so that only the index of subjects fits: from that of ongoing runs, all of the class would be read.
const BY_SUBJECT = statement(
  'run_by_subject',
  (t) => `select ${RUN_COLUMNS} from ${t.runs} w
  where w.workflow_class || '' = $1 and w.subject_type = $2 and w.subject_id = $3 and w.ended_at is null`,
);

/** The ongoing run that holds the subject's slot. */
export async function ongoingRunOf(
  connection: Connection,
  workflow: string,
  subject: { type: string; id: string },
): Promise<RunRow | undefined> {
  return (await connection.run<RunRow>(BY_SUBJECT, [workflow, subject.type, subject.id]))[0];
}
