// @ts-check
import { ALL_MODES, openApp } from './app.mjs';
import { percentile } from './report.mjs';
import { Crowd, Parked } from './waiting.workflows.mjs';

/**
 * @typedef {import('./attach.mjs').BenchDatabase} BenchDatabase
 * @typedef {import('./measurements.mjs').Watch} Watch
 */

/** Nobody watches. @type {Watch} */
const unwatched = (work) => work();

/**
 * One signal at a time to one of many parked runs, on an idle system.
 *
 * @param {BenchDatabase} database
 * @param {number} parked
 * @param {Watch} watch
 * @returns {Promise<{ p50: number, p95: number }>} milliseconds from the call of `signal` until the body of the step after the wait runs
 */
export async function measureWakeUp(database, parked, watch = unwatched) {
  await database.clear();
  const { workflows, close } = await openApp(database.url, ALL_MODES);
  const runs = await workflows.startMany(
    Parked,
    Array.from({ length: parked }, () => ({})),
  );
  await until(database, `select count(*) = ${parked} as done from workflows where status = 'waiting'`);
  /** @type {number[]} */
  const times = [];
  await watch(async () => {
    for (const run of runs) {
      /** @type {Promise<void>} */
      const woken = new Promise((resolve) => (Parked.woken = (id) => id === run.id && resolve()));
      const begun = performance.now();
      await run.signal('go');
      await woken;
      times.push(performance.now() - begun);
    }
  });
  await close();
  return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
}

/**
 * One run that fans out, from its start until it is joined; the memory is this process's own, with the worker in it.
 *
 * @param {BenchDatabase} database
 * @param {number} members
 * @param {Watch} watch
 */
export async function measureFanOut(database, members, watch = unwatched) {
  await database.clear();
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
  const { workflows, close } = await openApp(database.url, ALL_MODES);
  const run = await watch(async () => {
    const started = await workflows.start(Crowd, { args: { members } });
    await until(database, `select ended_at is not null as done from workflows where id = '${started.id}'`, members);
    return started;
  });
  const { rows } = await database.client.query(
    `select extract(epoch from w.ended_at - s.started_at)::float8 as seconds,
            (select count(*)::int from workflow_steps m where m.parent_step_id = s.id and m.status = 'completed') as completed
     from workflows w join workflow_steps s on s.workflow_id = w.id and s.member_index = -1 where w.id = $1`,
    [run.id],
  );
  await close();
  clearInterval(sampler);
  if (rows[0].completed !== members) throw new Error(`${rows[0].completed} of ${members} members completed`);
  return { members, membersPerSecond: members / rows[0].seconds, peakMegabytes: (peak - before) / 2 ** 20 };
}

/**
 * The time of a claim that takes one row, with and without a crowd of parked runs in the tables: in turn, medians.
 *
 * @param {BenchDatabase} database
 * @param {number} parked
 */
export async function measureParked(database, parked) {
  const without = await claimTimes(database, 0);
  const beside = await claimTimes(database, parked);
  const again = await claimTimes(database, 0);
  const empty = percentile([...without, ...again], 0.5);
  return { parked, emptyMs: empty, besideMs: percentile(beside, 0.5), ratio: percentile(beside, 0.5) / empty };
}

/**
 * @param {BenchDatabase} database
 * @param {number} parked
 * @returns {Promise<number[]>}
 */
async function claimTimes(database, parked) {
  await database.clear();
  if (parked) await fillWithParked(database, parked);
  const { client } = database;
  const { workflows, claimOnce, close } = await openApp(database.url, false);
  const times = [];
  for (let round = -20; round < 200; round += 1) {
    const { id } = await workflows.start(Parked);
    const took = await claimOnce();
    if (round >= 0) times.push(took);
    await client.query('delete from workflows where id = $1', [id]);
  }
  await close();
  return times;
}

/**
 * Runs that wait for a signal with a deadline, as the engine leaves them.
 *
 * @param {BenchDatabase} database
 * @param {number} parked
 */
async function fillWithParked({ client }, parked) {
  await client.query(
    `with runs as (
       insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
       select gen_random_uuid(), 'Parked', '{}', 'waiting', 'wait', '' from generate_series(1, $1::int) returning id
     )
     insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, wait_for, waiting_since, timeout_at)
     select id, 'Parked', 'wait', 1, 'waiting', 'default', now(), 'go', now(), now() + interval '1 day' from runs`,
    [parked],
  );
  await client.query('vacuum analyze workflows');
  await client.query('vacuum analyze workflow_steps');
}

/**
 * @param {BenchDatabase} database
 * @param {string} query answers one row with `done`
 * @param {number} [size]
 */
async function until({ client }, query, size = 1_000) {
  const limit = performance.now() + 60_000 + size * 5;
  for (;;) {
    const { rows } = await client.query(query);
    if (rows[0]?.done) return;
    if (performance.now() > limit) throw new Error(`It does not come to its end: ${query}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
