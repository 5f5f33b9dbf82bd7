import type { Client } from 'pg';

/** The lanes of the scheduled rows: three queues, four priorities. */
export const LANES = ['default', 'mail', 'orders'].flatMap((queue) =>
  [0, 1, 2, 3].map((priority) => ({ queue, priority })),
);

/** Of the five classes of the rows, those that a process has loaded. */
export const LOADED = ['Class0', 'Class1', 'Class2'];

/** Three in ten of them are due. */
const SCHEDULED = 200_000;

/** 100,000 attempts of runs that have ended, and 40,000 signals that they took. Nothing analyses the tables from here on but the test. */
export async function fillEnded(client: Client): Promise<void> {
  for (const table of ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals']) {
    await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  // Faster without a look at each row's run (its foreign key); where that is not allowed, with it.
  await client.query(`set session_replication_role = replica`).catch(() => undefined);
  await client.query(
    `insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, ended_at)
     select gen_random_uuid(), 'Class' || n % 5, '{}', 'finished', 'five', '', statement_timestamp() from generate_series(1, 20000) n`,
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

/** 200,000 ready runs with a scheduled step, 70 % of them in the future, spread over {@link LANES} and five classes. */
export async function fillScheduled(client: Client): Promise<void> {
  await client.query(
    `with runs as (
       insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest)
       select gen_random_uuid(), 'Class' || n % 5, 'Order', n::text, '{}', 'ready', 'one', '' from generate_series(1, $1::int) n
       returning id, workflow_class, subject_id::int as n
     )
     insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, available_at)
     select id, workflow_class, 'one', 1, 'scheduled', (array['default', 'mail', 'orders'])[1 + n / 5 % 3], n / 15 % 4, due, due
     from runs, lateral (select statement_timestamp() + (n % 1000 - 300) * interval '1 minute' as due) at`,
    [SCHEDULED],
  );
}
