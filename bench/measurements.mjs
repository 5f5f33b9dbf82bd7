// @ts-check
import { ALL_MODES, FiveSteps, openApp, ThreeSteps } from './app.mjs';
import { writeFloor } from './floor.mjs';

/**
 * @typedef {import('./attach.mjs').BenchDatabase} BenchDatabase
 * @typedef {import('./attach.mjs').Counters} Counters
 * @typedef {typeof ALL_MODES} Modes
 * @typedef {Record<string, number>} Figures
 *
 * @typedef {object} Workload runs that a worker can take to their end alone
 * @property {import('./app.mjs').Contents} [contents] what the application has; default: the usual
 * @property {number} steps rows of `workflow_steps` that a run has in the end
 * @property {(workflows: import('nestjs-pg-workflows').WorkflowService, from: number, count: number) => Promise<unknown>} start
 *   starts runs number `from` to `from + count - 1`
 * @property {(client: import('pg').Client, runs: number) => Promise<unknown>} [prepare] before so many are started
 *
 * @typedef {<T>(work: () => Promise<T>) => Promise<T>} Watch is handed the part of a measurement that counts
 */

/** Nobody watches. @type {Watch} */
const unwatched = (work) => work();

const START_AT_ONCE = 500;

/** Five steps that do nothing. @type {Workload} */
export const PLAIN = {
  steps: 5,
  start: (workflows, from, count) =>
    workflows.startMany(
      FiveSteps,
      Array.from({ length: count }, (_, index) => ({ args: { order: from + index } })),
    ),
};

/**
 * Starts runs from a process without a worker, then lets a worker run them all.
 *
 * @param {BenchDatabase} database
 * @param {Modes} modes
 * @param {number} runs
 * @param {Workload} workload
 * @param {Watch} watch
 * @returns {Promise<Figures>}
 */
export async function measureThroughput(database, modes, runs, workload = PLAIN, watch = unwatched) {
  await database.clear();
  await workload.prepare?.(database.client, runs);
  const startSeconds = await startRuns(database, workload, runs);
  const before = { ...(await database.counters()), tables: await database.tableCounters() };
  await watch(async () => {
    const worker = await openApp(database.url, modes, workload.contents);
    await untilEnded(database, runs);
    await worker.close();
  });
  const after = await database.counters();
  const { steps, seconds } = await whatRan(database, runs, workload.steps);
  return {
    startsPerSecond: runs / startSeconds,
    ...rates(before, after, steps, seconds),
    ...(await rewritten(database, before.tables)),
  };
}

/**
 * @param {BenchDatabase} database
 * @param {number} runs
 * @returns {Promise<Figures>}
 */
export async function measureFloor(database, runs) {
  await database.clear();
  const before = await database.counters();
  const seconds = await writeFloor(database.client, runs);
  return rates(before, await database.counters(), runs * PLAIN.steps, seconds);
}

/**
 * One run of three steps at a time, in a process that does nothing else.
 *
 * @param {BenchDatabase} database
 * @param {number} runs
 * @param {Watch} watch
 * @returns {Promise<number[]>} milliseconds from the call of `start` until the run is seen to have finished
 */
export async function measureLatency(database, runs, watch = unwatched) {
  await database.clear();
  const { workflows, close } = await openApp(database.url, ALL_MODES);
  const oneRun = async (/** @type {number} */ order) => {
    /** @type {Promise<void>} */
    const lastBody = new Promise((resolve) => (ThreeSteps.ended = resolve));
    const begun = performance.now();
    const { id } = await workflows.start(ThreeSteps, { args: { order } });
    await lastBody;
    while (!(await hasEnded(database, id)));
    return performance.now() - begun;
  };
  for (let run = 0; run < 20; run += 1) await oneRun(run); // The first ones warm it up.
  const latencies = await watch(async () => {
    const times = [];
    for (let run = 0; run < runs; run += 1) times.push(await oneRun(run));
    return times;
  });
  await close();
  return latencies;
}

/**
 * @param {BenchDatabase} database
 * @param {Workload} workload
 * @param {number} runs
 */
async function startRuns(database, workload, runs) {
  const { workflows, close } = await openApp(database.url, false, workload.contents);
  const begun = performance.now();
  for (let started = 0; started < runs; started += START_AT_ONCE) {
    await workload.start(workflows, started, Math.min(START_AT_ONCE, runs - started));
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
export async function untilEnded({ client }, runs) {
  const limit = performance.now() + 30_000 + runs * 50;
  for (;;) {
    const { rowCount } = await client.query('select from workflows where ended_at is null limit 1');
    if (rowCount === 0) return;
    if (performance.now() > limit) throw new Error('The worker does not get its runs to their end');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * What the tables say was done, held to what had to be done: a workload that ends its runs early would look fast.
 *
 * @param {BenchDatabase} database
 * @param {number} runs
 * @param {number} stepsOfRun
 * @returns {Promise<{ steps: number, seconds: number }>}
 */
export async function whatRan({ client }, runs, stepsOfRun) {
  const { rows } = await client.query(
    `select (select count(*)::int from workflows where status = 'finished') as finished, count(*)::int as steps,
            extract(epoch from (select max(ended_at) from workflows) - min(started_at))::float8 as seconds
     from workflow_steps where finished_at is not null`,
  );
  const [{ finished, steps, seconds }] = rows;
  if (finished !== runs || steps !== runs * stepsOfRun) {
    throw new Error(`${finished} of ${runs} runs finished, with ${steps} of ${runs * stepsOfRun} steps`);
  }
  return { steps, seconds };
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
 * @param {Counters} before
 * @param {Counters} after
 * @param {number} steps
 * @param {number} seconds
 */
export function rates(before, after, steps, seconds) {
  return {
    stepsPerSecond: steps / seconds,
    commitsPerStep: (after.commits - before.commits) / steps,
    walBytesPerStep: (after.walBytes - before.walBytes) / steps,
  };
}

/**
 * How rows were updated, and what is left of their old versions.
 *
 * @param {BenchDatabase} database
 * @param {import('./attach.mjs').TableCounters} before
 * @returns {Promise<Figures>}
 */
async function rewritten(database, before) {
  const after = await database.tableCounters();
  return {
    runUpdates: after.workflows.updates - before.workflows.updates,
    runHotUpdates: after.workflows.hot - before.workflows.hot,
    runDeadRows: after.workflows.dead,
    stepUpdates: after.workflow_steps.updates - before.workflow_steps.updates,
    stepHotUpdates: after.workflow_steps.hot - before.workflow_steps.hot,
    stepDeadRows: after.workflow_steps.dead,
  };
}
