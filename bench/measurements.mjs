// @ts-check
import { ALL_MODES, FiveSteps, openApp, ThreeSteps } from './app.mjs';
import { writeFloor } from './floor.mjs';

/**
 * @typedef {import('./database.mjs').BenchDatabase} BenchDatabase
 * @typedef {typeof ALL_MODES} Modes
 *
 * @typedef {object} Throughput
 * @property {number | null} startsPerSecond runs started a second, by `startMany`
 * @property {number} stepsPerSecond from the first claim to the last finish
 * @property {number} commitsPerStep
 * @property {number} walBytesPerStep
 */

const STEPS = 5;
const START_AT_ONCE = 500;

/**
 * Starts runs from a process without a worker, then lets a worker run them all.
 *
 * @param {BenchDatabase} database
 * @param {Modes} modes
 * @param {number} runs
 * @returns {Promise<Throughput>}
 */
export async function measureThroughput(database, modes, runs) {
  await database.clear();
  const startSeconds = await startRuns(database, runs);
  const before = await database.counters();
  const worker = await openApp(database.url, modes);
  await untilEnded(database, runs);
  await worker.close();
  const after = await database.counters();
  const { rows } = await database.client.query(
    `select extract(epoch from (select max(ended_at) from workflows) - min(started_at))::float8 as seconds from workflow_steps`,
  );
  return throughput(before, after, runs, rows[0].seconds, runs / startSeconds);
}

/**
 * @param {BenchDatabase} database
 * @param {number} runs
 * @returns {Promise<Throughput>}
 */
export async function measureFloor(database, runs) {
  await database.clear();
  const before = await database.counters();
  const seconds = await writeFloor(database.client, runs);
  return throughput(before, await database.counters(), runs, seconds, null);
}

/**
 * One run of three steps at a time, in a process that does nothing else.
 *
 * @param {BenchDatabase} database
 * @param {number} runs
 * @returns {Promise<number[]>} milliseconds from the call of `start` until the run is seen to have finished
 */
export async function measureLatency(database, runs) {
  await database.clear();
  const { workflows, close } = await openApp(database.url, ALL_MODES);
  const latencies = [];
  for (let run = -20; run < runs; run += 1) {
    /** @type {Promise<void>} */
    const lastBody = new Promise((resolve) => (ThreeSteps.ended = resolve));
    const begun = performance.now();
    const { id } = await workflows.start(ThreeSteps, { args: { order: run } });
    await lastBody;
    while (!(await hasEnded(database, id)));
    if (run >= 0) latencies.push(performance.now() - begun); // The first ones warm it up.
  }
  await close();
  return latencies;
}

/**
 * @param {BenchDatabase} database
 * @param {number} runs
 */
async function startRuns(database, runs) {
  const { workflows, close } = await openApp(database.url, false);
  const begun = performance.now();
  for (let started = 0; started < runs; started += START_AT_ONCE) {
    const inputs = Array.from({ length: Math.min(START_AT_ONCE, runs - started) }, (_, index) => ({
      args: { order: started + index },
    }));
    await workflows.startMany(FiveSteps, inputs);
  }
  const seconds = (performance.now() - begun) / 1000;
  await close();
  return seconds;
}

/**
 * Looks seldom, and where it costs little: the index of ongoing runs.
 *
 * @param {BenchDatabase} database
 * @param {number} runs
 */
async function untilEnded({ client }, runs) {
  const limit = performance.now() + 30_000 + runs * 50;
  for (;;) {
    const { rowCount } = await client.query('select from workflows where ended_at is null limit 1');
    if (rowCount === 0) return;
    if (performance.now() > limit) throw new Error('The worker does not get its runs to their end');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * @param {BenchDatabase} database
 * @param {string} id
 */
async function hasEnded({ client }, id) {
  const { rowCount } = await client.query({
    name: 'ended',
    text: 'select from workflows where id = $1 and ended_at is not null',
    values: [id],
  });
  return rowCount === 1;
}

/**
 * @param {import('./database.mjs').Counters} before
 * @param {import('./database.mjs').Counters} after
 * @param {number} runs
 * @param {number} seconds
 * @param {number | null} startsPerSecond
 * @returns {Throughput}
 */
function throughput(before, after, runs, seconds, startsPerSecond) {
  const steps = runs * STEPS;
  return {
    startsPerSecond,
    stepsPerSecond: steps / seconds,
    commitsPerStep: (after.commits - before.commits) / steps,
    walBytesPerStep: (after.walBytes - before.walBytes) / steps,
  };
}
