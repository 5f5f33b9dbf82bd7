// @ts-check
// A day of twenty classes: rows as the engine leaves them, without events and signals, which insights do not read. Attempts lie in the table in the order in which
// they were scheduled, those of a run apart from each other, as they do in life.

import { settleDown } from '../data/fill.mjs';
import { CLASSES, STEPS } from './workflows.mjs';

/**
 * @typedef {import('pg').Client} Client
 * @typedef {{ runs: number, from: string, to: string }} Stretch between two intervals before now
 */

const CHUNK = 20_000;

/** As `uuidv7()` makes it: the milliseconds of `at`, then chance. */
const RUN_ID = `(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`;

const LAST = STEPS.length;

/**
 * Runs $1 to $2 of $3, begun from $4 before now to $5 before now. One in twenty takes up to twelve hours, the others up to a minute. What would end after now is
 * ongoing: scheduled, in progress, waiting or paused on a failure, one in four each. One in 25 tries its second step again, one in 20 is cancelled at its end.
 */
const RUNS = `
with drawn as materialized (
  select n, now() - $4::interval + ($4::interval - $5::interval) * (n::float8 / $3::int) as at,
         interval '1 second' * case when random() < 0.05 then random() * 43200 else random() * 60 end as takes,
         'Flow' || lpad((1 + n % ${CLASSES})::text, 2, '0') as class
  from generate_series($1::int, $2::int) n
), begun as materialized (
  select ${RUN_ID} as id, n, class, at, takes, at + takes <= now() as ended,
         case when at + takes <= now() then ${LAST} else least(${LAST}, 1 + floor(extract(epoch from now() - at) / extract(epoch from takes) * ${LAST})::int) end as place,
         (array['ready', 'performing', 'waiting', 'paused'])[1 + (n / ${CLASSES}) % 4] as stands
  from drawn
), runs as (
  insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest,
                         created_at, updated_at, paused_at, ended_at)
  select id, class, 'Account', 'account-' || n, json_build_object('order', n, 'note', repeat('lorem ipsum ', 1 + n % 16)),
         case when not ended then stands when (n / ${CLASSES}) % 20 = 0 then 'cancelled' else 'finished' end, (array['${STEPS.join("', '")}'])[place], repeat('f', 64), at,
         case when ended then at + takes else at + takes * (place - 1) / ${LAST} end, case when not ended and stands = 'paused' then now() end,
         case when ended then at + takes end
  from begun
), attempts as (
  select b.*, step.name, step.place as on_place, try.attempt, begin.at as due, begin.at + b.takes * 0.9 / ${LAST} as done,
         not b.ended and step.place = b.place and try.attempt = try.attempts as current, try.attempt < try.attempts as failed
  from begun b cross join unnest(array['${STEPS.join("', '")}']) with ordinality as step(name, place)
  cross join lateral (select attempt, attempts from
    (select case when step.place = 2 and (b.n / ${CLASSES}) % 25 = 0 then 2 else 1 end as attempts) a, generate_series(1, attempts) attempt) try
  cross join lateral (select b.at + b.takes * (step.place - 1 + (try.attempt - 1) * 0.05) / ${LAST} as at) begin
  where step.place <= b.place
)
insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, scheduled_at, available_at, started_at, finished_at, claim_no,
                            worker_id, worker, app_revision, waiting_since, wait_for, error_class, error_message, error_backtrace, output, created_at)
select id, class, name, attempt,
       case when current then (array['scheduled', 'in_progress', 'waiting', 'failed'])[array_position(array['ready', 'performing', 'waiting', 'paused'], stands)]
            when failed then 'failed' else 'completed' end,
       case when failed then 'reattempted' when current and stands = 'paused' then 'paused' when not current then 'completed' end,
       'default', due, case when not current or stands <> 'waiting' then due end,
       case when not current or stands in ('performing', 'paused') then due + interval '8 ms' * random() end,
       case when not current then done when stands = 'paused' then now() end, 1,
       'a0000000-0000-4000-8000-000000000001', 'worker-1:17', 'rev-' || (extract(epoch from now() - due)::int / 14400), case when current and stands = 'waiting' then due end, case when current and stands = 'waiting' then 'go' end,
       case when failed or current and stands = 'paused' then 'GatewayTimeout' end, case when failed or current and stands = 'paused' then 'the gateway did not answer' end,
       case when failed or current and stands = 'paused' then repeat('    at charge (orders.ts:12:3)', 20) end,
       case when not current then json_build_object('reference', md5(id::text), 'amount', 1234.5, 'lines', json_build_array(1, 2, 3)) end, due
from attempts order by due`;

/**
 * @param {Client} client
 * @param {readonly Stretch[]} stretches oldest first
 * @param {(line: string) => void} say
 */
export async function fill(client, stretches, say) {
  await client.query('set synchronous_commit = off');
  await client.query('set session_replication_role = replica').catch(() => undefined);
  const begun = performance.now();
  for (const { runs, from, to } of stretches) {
    for (let first = 1; first <= runs; first += CHUNK) {
      await client.query(RUNS, [first, Math.min(first + CHUNK - 1, runs), runs, from, to]);
    }
    say(
      `${runs.toLocaleString('en')} runs from ${from} to ${to} ago, ${Math.round((performance.now() - begun) / 1000)} s`,
    );
  }
  await settleDown(client);
}
