// @ts-check
// Rows as the engine leaves them, written in sets. The indexes are those of the migration and stand while the rows come in, and runs come in the
// order of their ids, as they do in life: what is measured afterwards has grown, not been packed.

import { randomUUID } from 'node:crypto';
import { STEPS } from './workflows.mjs';

/**
 * @typedef {import('pg').Client} Client
 * @typedef {{ ended: number, future: number, parked: number }} Sizes
 * @typedef {(line: string) => void} Say
 */

/** Ended runs lie this far back; what is older than `OLD_AFTER` days is made for the retention alone. */
const DAYS = 28;
export const OLD_AFTER_DAYS = 29;

const CHUNK = 20_000;
/** Subjects of the ended runs. */
const ACCOUNTS = 50_000;

/** As `uuidv7()` makes it: the milliseconds of `at`, then chance. */
const RUN_ID = (/** @type {string} */ at) =>
  `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`;

const CLASS = `(array['Order', 'Order', 'Invoice', 'Mailing', 'Shipment'])[1 + n % 5]`;
const ARGUMENTS = `json_build_object('order', n, 'currency', 'EUR', 'note', repeat('lorem ipsum ', 1 + n % 16))`;

/** Runs $1 to $2 of $3, over $5 days from $4 days ago: 5 attempts and 17 events each; one in two has a key ($6 and its number), one in five a signal. */
const ENDED = `
with runs as (
  insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, idempotency_key,
                         definition_digest, created_at, updated_at, ended_at)
  select ${RUN_ID('at')}, ${CLASS}, 'Account', 'account-' || n % ${ACCOUNTS}, ${ARGUMENTS}, 'finished', '${STEPS.at(-1)}',
         case when n % 2 = 0 then $6::text || n end, repeat('f', 64), at, at + interval '5 s', at + interval '5 s'
  from generate_series($1::int, $2::int) n,
       lateral (select now() - $4::int * interval '1 day' + n * ($5::int * interval '1 day' / $3::int) as at) moment
  returning id, workflow_class, created_at
), steps as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, priority, scheduled_at, available_at,
                              started_at, finished_at, claim_no, worker_id, worker, app_revision, lease_expires_at, output, created_at)
  select id, workflow_class, name, 1, 'completed', 'completed', case workflow_class when 'Mailing' then 'mail' else 'default' end,
         case workflow_class when 'Mailing' then 10 when 'Shipment' then 5 else 0 end, at, at, at, at + interval '1 s', 1,
         'a0000000-0000-4000-8000-000000000001', 'worker-1:17', 'e83c5163', at + interval '8 s',
         case when place > 2 then json_build_object('reference', md5(id::text), 'amount', 1234.5, 'lines', json_build_array(1, 2, 3)) end, at
  from runs, unnest(array['${STEPS.join("', '")}']) with ordinality as step(name, place),
       lateral (select created_at + (place - 1) * interval '1 s' as at) begun
  order by id, place
  returning id, workflow_id, step_name, started_at
), signals as (
  insert into workflow_signals (workflow_id, name, payload, idempotency_key, status, claimed_by_step_id, created_at, claimed_at, consumed_at)
  select workflow_id, 'approved', json_build_object('by', 'somebody', 'event', id), 'event-' || id, 'consumed', id, started_at, started_at, started_at
  from steps where step_name = 'charge' and id % 25 < 5
)
insert into workflow_events (workflow_id, step_id, name, actor, created_at)
select workflow_id, step_id, name, actor, at from (
  select id as workflow_id, null::bigint as step_id, 'started' as name, 'app' as actor, created_at as at, 0 as place from runs
  union all
  select s.workflow_id, s.id, e.name, 'system', s.started_at, e.place::int
  from steps s, unnest(array['step_scheduled', 'step_started', 'step_completed']) with ordinality as e(name, place)
  union all
  select id, null, 'finished', 'system', created_at + interval '5 s', 4 from runs) trail
order by workflow_id, at, place`;

/** Runs whose first step is due later, nine in ten in the lane that is measured (`default`, 0). $3: their class; null: four of ours. */
const FUTURE = `
with given as (
  select n, coalesce($3::text, (array['Order', 'Invoice', 'Order', 'Invoice', 'Order', 'Invoice', 'Order', 'Invoice', 'Mailing', 'Shipment'])[1 + n % 10]) as class,
         now() - n * interval '1 ms' as at, now() + $4::interval + n * interval '2 s' as due
  from generate_series($1::int, $2::int) n
), runs as (
  insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest, created_at, updated_at)
  select ${RUN_ID('at')}, class, 'Account', 'later-' || n, ${ARGUMENTS}, 'ready', '${STEPS[0]}', repeat('f', 64), at, due
  from given
  returning id, workflow_class, created_at, updated_at as due
), steps as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at, created_at)
  select id, workflow_class, '${STEPS[0]}', 1, 'scheduled', case workflow_class when 'Mailing' then 'mail' else 'default' end,
         case workflow_class when 'Mailing' then 10 when 'Shipment' then 5 else 0 end, due, due, created_at
  from runs
  returning id, workflow_id
)
insert into workflow_events (workflow_id, step_id, name, actor)
select workflow_id, null::bigint, 'started', 'app' from steps
union all select workflow_id, id, 'step_scheduled', 'app' from steps`;

/** Runs that wait for a signal, one in two with a deadline ahead. */
const PARKED = `
with runs as (
  insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest)
  select ${RUN_ID(`now() - n * interval '1 ms'`)}, $3::text, 'Account', 'waiting-' || n, '{}', 'waiting', 'wait', repeat('f', 64)
  from generate_series($1::int, $2::int) n
  returning id
), steps as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, wait_for, waiting_since, timeout_at)
  select id, $3::text, 'wait', 1, 'waiting', 'default', now(), 'approved', now(), case when place % 2 = 0 then now() + interval '9 days' + place * interval '1 s' end
  from (select id, row_number() over () as place from runs) parked
  returning id, workflow_id
)
insert into workflow_events (workflow_id, step_id, name, actor)
select workflow_id, null::bigint, 'started', 'app' from steps
union all select workflow_id, id, 'step_scheduled', 'app' from steps
union all select workflow_id, id, 'step_waiting', 'system' from steps`;

/** One run that waits on a batch of $1 members, of which the last $2 are open and far from due. Answers the row that waits. */
const BATCH = `
with run as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
  values (${RUN_ID('now()')}, 'Letters', '{}', 'waiting', 'send', repeat('f', 64)) returning id
), parent as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, waiting_since, batch_size)
  select id, 'Letters', 'send', 1, 'waiting', 'default', now(), now(), $1::int from run returning id, workflow_id
), members as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at, available_at,
                              finished_at, job_name, job_args)
  select workflow_id, 'Letter', 'send', 1, place, id, case when place >= $1::int - $2::int then 'scheduled' else 'completed' end, 'letters',
         due, due, case when place < $1::int - $2::int then now() end, 'Letter', '{"to":"somebody"}'
  from parent, generate_series(0, $1::int - 1) place, lateral (select now() + interval '30 days' as due) at
)
select id, workflow_id as "workflowId" from parent`;

/**
 * @param {Client} client
 * @param {Sizes} sizes
 * @param {Say} say
 */
export async function fill(client, { ended, future, parked }, say) {
  await withoutChecks(client, async () => {
    await inChunks(ended, 'ended runs', say, (from, to) =>
      client.query(ENDED, [from, to, ended, DAYS, DAYS, 'request-']),
    );
    await inChunks(future, 'runs that are due later', say, (from, to) =>
      client.query(FUTURE, [from, to, null, '1 day']),
    );
    await inChunks(parked, 'runs that wait', say, (from, to) => client.query(PARKED, [from, to, 'Approval']));
  });
  await settleDown(client);
}

/**
 * Runs that ended before all others.
 *
 * @param {Client} client
 * @param {number} count
 */
export async function fillOld(client, count) {
  await client.query(ENDED, [1, count, count, OLD_AFTER_DAYS + 2, 1, `old-${randomUUID()}-`]);
}

/**
 * Runs of a class that nobody here has, scheduled from `due` (an interval from now) on, or, for `parked`, waiting.
 *
 * @param {Client} client
 * @param {number} count
 * @param {string} due
 * @param {Say} say
 */
export async function fillStrangers(client, count, due, say) {
  await withoutChecks(client, () =>
    inChunks(count, `rows of a class that nobody has (${due})`, say, (from, to) =>
      due === 'parked'
        ? client.query(PARKED, [from, to, 'Stranger'])
        : client.query(FUTURE, [from, to, 'Stranger', due]),
    ),
  );
  await settleDown(client);
}

/**
 * @param {Client} client
 * @param {number} members
 * @param {number} [open] the last so many of them
 * @returns {Promise<{ id: string, workflowId: string }>} the row that waits
 */
export async function fillBatch(client, members, open = 10) {
  return (await client.query(BATCH, [members, open])).rows[0];
}

/**
 * As autovacuum and the checkpointer leave tables that nobody has written to for a while.
 *
 * @param {Client} client
 */
export async function settleDown(client) {
  for (const table of ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals']) {
    await client.query(`vacuum analyze ${table}`);
  }
  await client.query('checkpoint');
}

/**
 * Without waiting for the disk and, where that is allowed, without a look at each row's run (its foreign key).
 *
 * @param {Client} client
 * @param {() => Promise<void>} write
 */
async function withoutChecks(client, write) {
  await client.query('set synchronous_commit = off');
  await client.query('set session_replication_role = replica').catch(() => undefined);
  try {
    await write();
  } finally {
    await client.query('reset synchronous_commit');
    await client.query('reset session_replication_role').catch(() => undefined);
  }
}

/**
 * @param {number} count
 * @param {string} what
 * @param {Say} say
 * @param {(from: number, to: number) => Promise<unknown>} write
 */
async function inChunks(count, what, say, write) {
  const begun = performance.now();
  for (let from = 1; from <= count; from += CHUNK) {
    const to = Math.min(from + CHUNK - 1, count);
    await write(from, to);
    if (to === count || to % (CHUNK * 10) === 0) {
      say(
        `${to.toLocaleString('en')} of ${count.toLocaleString('en')} ${what}, ${Math.round((performance.now() - begun) / 1000)} s`,
      );
    }
  }
}
