// @ts-check
// The floor: what it costs PostgreSQL to keep the rows of ended five-step runs, when nobody has to decide anything. One
// connection writes runs, attempts and events in their final state, in statements of 100 runs.

import { randomUUID } from 'node:crypto';

const BATCH = 100;

const WRITE = `
with runs as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, ended_at)
  select id, 'FiveSteps', '{"order":12345}', 'finished', 'five', $2, statement_timestamp() from unnest($1::uuid[]) as given(id)
  returning id
), steps as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, scheduled_at, available_at,
                              started_at, finished_at, claim_no, worker_id, worker, lease_expires_at)
  select runs.id, 'FiveSteps', name, 1, 'completed', 'completed', 'default', statement_timestamp(), statement_timestamp(),
         statement_timestamp(), statement_timestamp(), 1, $3, $4, statement_timestamp() + interval '8 s'
  from runs, unnest(array['one', 'two', 'three', 'four', 'five']) as step(name)
  returning id, workflow_id
)
insert into workflow_events (workflow_id, step_id, name, actor)
select id, null::bigint, 'started', 'app' from runs
union all
select steps.workflow_id, steps.id, event.name, 'system'
from steps, unnest(array['step_scheduled', 'step_started', 'step_completed']) as event(name)
union all
select id, null, 'finished', 'system' from runs`;

/**
 * @param {import('pg').Client} client
 * @param {number} runs
 * @returns {Promise<number>} seconds
 */
export async function writeFloor(client, runs) {
  const worker = randomUUID();
  const digest = 'f'.repeat(64);
  const begun = performance.now();
  for (let written = 0; written < runs; written += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, runs - written) }, () => randomUUID());
    await client.query({ name: 'floor', text: WRITE, values: [ids, digest, worker, 'bench:1'] });
  }
  return (performance.now() - begun) / 1000;
}
