import type { Client } from 'pg';

/** The lanes of the scheduled rows: three queues, four priorities. */
export const LANES = ['default', 'mail', 'orders'].flatMap((queue) =>
  [0, 1, 2, 3].map((priority) => ({ queue, priority })),
);

/** Of the five classes of the rows, those that a process has loaded. */
export const LOADED = ['Class0', 'Class1', 'Class2'];

/** Three in ten of them are due. */
const SCHEDULED = 200_000;

/** 30,000 runs that wait for a signal, and 500 that wait on a batch of 20 members each, one in four still open. */
const WAITING = 30_000;
const BATCHES = 500;

/** 100,000 attempts of runs that have ended, and 40,000 signals that they took. Nothing analyses the tables from here on but the test. */
export async function fillEnded(client: Client): Promise<void> {
  for (const table of ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals']) {
    await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  // Faster without a look at each row's run (its foreign key); where that is not allowed, with it.
  await client.query(`set session_replication_role = replica`).catch(() => undefined);
  await client.query(
    `insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, ended_at)
     select gen_random_uuid(), 'Class' || n % 5, '{}', 'finished', 'five', '', statement_timestamp() - n * interval '1 minute' from generate_series(1, 20000) n`,
  );
  await client.query(
    `insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, scheduled_at, available_at, started_at,
                                 finished_at, claim_no, worker_id)
     select id, workflow_class, name, 1, 'completed', 'completed', 'default', created_at, created_at, created_at, created_at, 1, id
     from workflows, unnest(array['one', 'two', 'three', 'four', 'five']) name`,
  );
  await client.query(
    `insert into workflow_signals (workflow_id, name, payload, idempotency_key, status, claimed_by_step_id)
     select workflow_id, 'told', '{}', step_name, 'consumed', id from workflow_steps where step_name in ('one', 'two')`,
  );
  await client.query(
    `insert into workflow_events (workflow_id, step_id, name, actor) select workflow_id, id, 'step_completed', 'system' from workflow_steps`,
  );
}

/** {@link WAITING} and {@link BATCHES}, of five classes; one in two waits has a deadline, most of them ahead. */
export async function fillWaiting(client: Client): Promise<void> {
  await client.query(
    `with runs as (
       insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest)
       select gen_random_uuid(), 'Class' || n % 5, 'Order', 'waiting ' || n, '{}', 'waiting', 'wait', '' from generate_series(1, $1::int) n
       returning id, workflow_class, substr(subject_id, 9)::int as n
     ), steps as (
       insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, wait_for, waiting_since, timeout_at)
       select id, workflow_class, 'wait', 1, 'waiting', 'default', now(), 'told', now(), case when n % 2 = 0 then now() + (n - 3000) * interval '1 minute' end
       from runs returning id, workflow_id
     )
     insert into workflow_signals (workflow_id, name, payload, idempotency_key)
     select workflow_id, 'other', '{}', id from steps where id % 10 = 0`,
    [WAITING],
  );
  await client.query(
    `with runs as (
       insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
       select gen_random_uuid(), 'Class' || n % 5, '{}', 'waiting', 'crowd', '' from generate_series(1, $1::int) n
       returning id, workflow_class
     ), parents as (
       insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, waiting_since, batch_size)
       select id, workflow_class, 'crowd', 1, 'waiting', 'default', now(), now(), 20 from runs returning id, workflow_id
     )
     insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at,
                                 available_at, finished_at, claim_no, job_name, job_args)
     select workflow_id, 'Job', 'crowd', 1, place, id, case when place % 4 = 0 then 'scheduled' else 'completed' end, 'jobs', now(), now(),
            case when place % 4 <> 0 then now() end, 1, 'Job', '{}'
     from parents, generate_series(0, 19) place`,
    [BATCHES],
  );
}

/** 200,000 ready runs with a scheduled step, 70 % of them in the future, spread over {@link LANES} and five classes. */
export async function fillScheduled(client: Client, count = SCHEDULED): Promise<void> {
  await client.query(
    `with runs as (
       insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest)
       select gen_random_uuid(), 'Class' || n % 5, 'Order', n::text, '{}', 'ready', 'one', '' from generate_series(1, $1::int) n
       returning id, workflow_class, subject_id::int as n
     )
     insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at)
     select id, workflow_class, 'one', 1, 'scheduled', (array['default', 'mail', 'orders'])[1 + n / 5 % 3], n / 15 % 4, due, due
     from runs, lateral (select statement_timestamp() + (n % 1000 - 300) * interval '1 minute' as due) at`,
    [count],
  );
}
