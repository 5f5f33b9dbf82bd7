// @ts-check
// The crowd of bench:insights, some of it stuck on errors of many kinds; a run that was tried many times, with its whole trail; a run that fans out widely.

import { settleDown } from '../data/fill.mjs';
import { fill as fillCrowd } from '../insights/fill.mjs';
import { CLASSES } from '../insights/workflows.mjs';

/** Of the crowd's ended runs, one in so many is paused instead, on one of so many errors: more groups than the page shows. */
const ONE_PAUSED_IN = 25;
const ERRORS = 15;

const PAUSED = `
with chosen as (
  select id, row_number() over () as n from workflows where status = 'finished' and workflow_class like 'Flow%' and abs(hashtext(id::text)) % ${ONE_PAUSED_IN} = 0
), runs as (
  update workflows w set status = 'paused', paused_at = ended_at, ended_at = null, subject_id = 'account-p' || n from chosen where w.id = chosen.id returning w.id, w.current_step, chosen.n
)
update workflow_steps s set status = 'failed', outcome = 'paused', output = null, error_class = 'Error' || n % ${ERRORS},
       error_message = 'the gateway said: ' || repeat('no, and no again; ', 1 + (n % 12)::int), error_backtrace = repeat('    at charge (orders.ts:12:3)' || chr(10), 20)
from runs where s.workflow_id = runs.id and s.step_name = runs.current_step`;

/** A run of $1 attempts, two minutes apart; the last one waits for its time. Each failure has a backtrace and a cause. */
const TRIED = `
with run as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, created_at)
  values (gen_random_uuid(), 'Poller', '{"from": "https://example.org/orders", "since": 17}', 'ready', 'poll', '', statement_timestamp() - $1::int * interval '2 minutes')
  returning id, created_at
), attempts as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, created_at, scheduled_at, available_at, started_at, finished_at,
                              claim_no, worker_id, worker, app_revision, error_class, error_message, error_backtrace, error_causes)
  select id, 'Poller', 'poll', n, case when over then 'failed' else 'scheduled' end, case when over then 'reattempted' end, 'default', at, at + interval '60 s',
         at + interval '60 s', case when over then at + interval '61 s' end, case when over then at + interval '110 s' end, 1, gen_random_uuid(), 'worker-1:17', 'rev-' || n / 100,
         case when over then 'GatewayTimeout' end, case when over then 'the gateway did not answer' end,
         case when over then repeat('    at poll (orders.ts:12:3)' || chr(10), 20) end,
         case when over then '[{"class": "TypeError", "message": "socket closed"}]'::json end
  from run, generate_series(1, $1::int) n, lateral (select run.created_at + n * interval '2 minutes' as at, n < $1::int as over) a
  returning id, workflow_id, attempt, created_at, started_at, finished_at
), trail as (
  insert into workflow_events (workflow_id, step_id, name, actor, created_at)
  select workflow_id, attempts.id, name, 'system', at from attempts,
         lateral (values ('step_scheduled', created_at), ('step_started', started_at), ('step_reattempted', finished_at)) e(name, at)
  where at is not null order by at
)
select id from run`;

/** A run that waits for a batch of $1 members: three in four are done, one in a hundred of these in vain. */
const FANNED = `
with run as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
  values (gen_random_uuid(), 'Mailing', '{"list": "everybody"}', 'waiting', 'send', '') returning id
), parent as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, started_at, waiting_since, claim_no, worker_id, batch_size)
  select id, 'Mailing', 'send', 1, 'waiting', 'default', now(), now(), now(), 1, gen_random_uuid(), $1::int from run returning id, workflow_id
), members as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at, available_at, started_at, finished_at,
                              claim_no, worker_id, job_name, job_args)
  select workflow_id, 'Mail', 'send', 1, n, id, case when n % 4 = 0 then 'scheduled' when n % 100 = 1 then 'failed' else 'completed' end, 'mail', now(), now(),
         case when n % 4 <> 0 then now() end, case when n % 4 <> 0 then now() end, 1, gen_random_uuid(), 'Mail', json_build_object('to', n)
  from parent, generate_series(0, $1::int - 1) n
), trail as (
  insert into workflow_events (workflow_id, step_id, name, actor)
  select workflow_id, id, name, 'system' from parent, unnest(array['step_scheduled', 'step_started', 'step_waiting']) name
)
select id from run`;

/**
 * @param {import('pg').Client} client
 * @param {{ runs: number, attempts: number, members: number }} sizes
 * @param {(line: string) => void} say
 * @returns {Promise<{ tried: string, fanned: string }>} the ids of the two large runs
 */
export async function fill(client, { runs, attempts, members }, say) {
  const recent = Math.ceil(runs / 3);
  await fillCrowd(client, [
    { runs: runs - recent, from: '29 days', to: '1 day' },
    { runs: recent, from: '1 day', to: '0 days' },
  ], say); // prettier-ignore
  const { rowCount } = await client.query(PAUSED);
  const [tried] = (await client.query(TRIED, [attempts])).rows;
  const [fanned] = (await client.query(FANNED, [members])).rows;
  await settleDown(client);
  say(`${rowCount} of them paused, ${CLASSES} classes; a run of ${attempts} attempts; a fan-out of ${members}`);
  return { tried: tried.id, fanned: fanned.id };
}
