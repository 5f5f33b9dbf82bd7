import type { Connection } from './connection.js';
import { dueAt } from './schedule.js';
import { statement, statusIs } from './statement.js';

/** One member of a fan-out that is to be opened. */
export interface NewMember {
  readonly job: string;
  /** As stored: JSON text. */
  readonly args: string;
  readonly queue: string;
  readonly priority: number;
  /** Milliseconds from now. */
  readonly wait: number;
}

/** A statement's worth of members: enough to spread the round trip, small enough for the server's memory. */
const CHUNK_MEMBERS = 5_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

const INSERT = statement(
  'open_members',
  (t) => `
insert into ${t.steps} (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, priority,
                        scheduled_at, available_at, job_name, job_args)
select $1::uuid, m.job, $3, $4::int, $5::int + m.place::int - 1, $2::bigint, 'scheduled', m.queue, m.priority, due.at, due.at,
       m.job, m.args::json
from unnest($6::text[], $7::text[], $8::text[], $9::int[], $10::float8[])
       with ordinality as m(job, args, queue, priority, wait, place)
cross join lateral (
  select ${dueAt({ base: 'statement_timestamp()', wait: 'm.wait', holdBack: '0', notBefore: 'null' })} as at) due`,
);

/** Writes the members of a batch, in as few statements as their size allows. They become claimable with the commit. */
export async function insertMembers(
  connection: Connection,
  parent: { id: string; workflowId: string; step: string; attempt: number },
  members: readonly NewMember[],
): Promise<void> {
  for (const { from, chunk } of chunksOf(members)) {
    await connection.run(INSERT, [
      parent.workflowId,
      parent.id,
      parent.step,
      parent.attempt,
      from,
      chunk.map(({ job }) => job),
      chunk.map(({ args }) => args),
      chunk.map(({ queue }) => queue),
      chunk.map(({ priority }) => priority),
      chunk.map(({ wait }) => wait),
    ]);
  }
}

function* chunksOf(members: readonly NewMember[]): Generator<{ from: number; chunk: readonly NewMember[] }> {
  let from = 0;
  let bytes = 0;
  for (const [index, { args }] of members.entries()) {
    if (index > from && (index - from === CHUNK_MEMBERS || bytes + args.length > CHUNK_BYTES)) {
      yield { from, chunk: members.slice(from, index) };
      from = index;
      bytes = 0;
    }
    bytes += args.length;
  }
  if (from < members.length) yield { from, chunk: members.slice(from) };
}

const PARK = statement(
  'park_batch',
  (t) => `
with parked as (
  update ${t.steps} s
  set status = 'waiting', available_at = null, waiting_since = statement_timestamp(), batch_size = $3::int,
      output = $4::json, lease_expires_at = null
  where s.id = $1::bigint and ${statusIs('s.status', `'in_progress'`)} returning s.id
), runs as (
  update ${t.runs} w
  set status = case when w.status = 'paused' then 'paused' else 'waiting' end, updated_at = statement_timestamp()
  where w.id = $2::uuid and exists (select from parked)
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, details)
  select $2::uuid, id, 'fan_out_opened', 'system', json_build_object('batch_id', id::text, 'size', $3::int) from parked
  union all
  select $2::uuid, id, 'step_waiting', 'system', json_build_object('batch_id', id::text) from parked
)
select id from parked`,
);

/** Parks a step on the batch that its body added, run and all. */
export async function parkOnBatch(
  connection: Connection,
  row: { id: string; workflowId: string },
  size: number,
  output: string | null,
): Promise<void> {
  const parked = await connection.run(PARK, [row.id, row.workflowId, size, output]);
  if (!parked.length) throw new Error(`Step ${row.id} of workflow ${row.workflowId} changed under its own lock`);
}

/**
 * Whether a member is still open. Probed from the end of the index: from its front, entries that an old snapshot keeps alive would be
 * walked one by one (30 ms against 0.02 after 100,000 members).
 */
const OPEN = statement(
  'open_member',
  (t) => `select m.id from ${t.steps} m
  where m.parent_step_id = $1::bigint and m.parent_step_id is not null and m.status in ('scheduled', 'in_progress')
  order by m.member_index desc limit 1`,
);

export async function hasOpenMember(connection: Connection, parentId: string): Promise<boolean> {
  return (await connection.run(OPEN, [parentId])).length > 0;
}

const COUNT = statement(
  'count_members',
  (t) => `select count(*)::int as total, count(*) filter (where m.status = 'failed')::int as failed,
         count(*) filter (where m.status = 'completed')::int as completed
  from ${t.steps} m where m.workflow_id = $1::uuid and m.step_name = $2 and m.parent_step_id = $3::bigint`,
);

/** How many members of a batch there are, and how they ended. */
export async function countMembers(
  connection: Connection,
  batch: { workflowId: string; step: string; id: string },
): Promise<{ total: number; failed: number; completed: number }> {
  const [counts] = await connection.run<{ total: number; failed: number; completed: number }>(COUNT, [
    batch.workflowId,
    batch.step,
    batch.id,
  ]);
  return counts!;
}

const DUE_TO_JOIN = statement(
  'make_due_to_join',
  (t) => `update ${t.steps} s set available_at = statement_timestamp()
  where s.id = $1::bigint and ${statusIs('s.status', `'waiting'`)} and s.batch_size is not null and s.available_at is null`,
);

/** For a process that has not the run's class: leaves the join to one that has, durably. */
export async function makeDueToJoin(connection: Connection, parentId: string): Promise<void> {
  await connection.run(DUE_TO_JOIN, [parentId]);
}

/** Batches of one look, at most. */
export const LARGEST_JOIN = 100;

const JOINS = statement(
  'due_joins',
  (t) => `select s.id, s.workflow_id from ${t.steps} s
  where s.status = 'waiting' and s.available_at is not null and s.handler = any($1::text[]) and s.id <> all($2::bigint[])
  order by s.available_at limit ${LARGEST_JOIN}`,
);

/** Batches that others found to be over, of the classes named; without those just tried. */
export function dueJoins(
  connection: Connection,
  handlers: readonly string[],
  tried: readonly string[],
): Promise<{ id: string; workflow_id: string }[]> {
  return connection.run(JOINS, [handlers, tried]);
}

/** Waiting batches of one look, at most. */
export const LARGEST_PATROL = 200;

/**
 * One page of the waiting batches, by run, after the one given, and whether each has been over for so long that whoever ended its last member must have died
 * before he joined it. Open members are probed as by `hasOpenMember`; ended ones are counted only where none is open.
 */
const UNJOINED = statement(
  'unjoined_batches',
  (t) => `
with waiting as materialized (
  select s.id, s.workflow_id, s.step_name, s.waiting_since from ${t.steps} s
  where s.status = 'waiting' and s.batch_size is not null and s.handler = any($1::text[]) and s.workflow_id > $2::uuid
  order by s.workflow_id limit ${LARGEST_PATROL}
)
select w.id, w.workflow_id,
       case when open.id is null then coalesce((
         select max(m.finished_at) from ${t.steps} m
         where m.workflow_id = w.workflow_id and m.step_name = w.step_name and m.parent_step_id = w.id
       ), w.waiting_since) < statement_timestamp() - $3::float8 * interval '1 millisecond' else false end as unjoined
from waiting w left join lateral (
  select m.id from ${t.steps} m
  where m.parent_step_id = w.id and m.parent_step_id is not null and m.status in ('scheduled', 'in_progress')
  order by m.member_index desc limit 1) open on true
order by w.workflow_id`,
);

export function unjoinedBatches(
  connection: Connection,
  workflows: readonly string[],
  after: string,
  longerThan: number,
): Promise<{ id: string; workflow_id: string; unjoined: boolean }[]> {
  return connection.run(UNJOINED, [workflows, after, longerThan]);
}
