// @ts-check
// The same backlog of five-step runs, with one, two and four worker processes.

import { percentile } from '../report.mjs';
import { FiveSteps } from '../app.mjs';
import { openApplication } from './application.mjs';
import { closeAll, figuresOf, startProcesses } from './processes.mjs';

/**
 * @typedef {object} Scale of one number of processes
 * @property {number} processes
 * @property {number} stepsPerSecond from the first claim to the last finish, by the database's clock
 * @property {number} commitsPerStep
 * @property {number} walBytesPerStep
 * @property {number} claims
 * @property {number} emptyClaims those that took nothing, of the workers that were told of the backlog
 * @property {number} deadlocks
 * @property {number} nodeMicrosPerStep processor time of all worker processes
 * @property {number | null} serverMicrosPerStep processor time of all of the server's
 * @property {number} busiestShare how much of the steps the process that ran the most has run
 */

const STEPS = 5;
const START_AT_ONCE = 500;

/**
 * @param {import('./server.mjs').WorkersServer} server
 * @param {number} processes
 * @param {number} runs
 * @returns {Promise<Scale>}
 */
export async function measureScale(server, processes, runs) {
  const [database] = server.databases;
  await database.clear();
  const starter = await openApplication(database.url, false);
  const workers = await startProcesses(processes, database.url, { concurrency: 100 });
  try {
    // Nobody measures a cold process.
    await startAtOnce(starter, 300 * processes);
    await untilEnded(database);
    await database.clear();
    const [before, own] = [await server.counters(database), await figuresOf(workers)];
    await startAtOnce(starter, runs);
    const started = await server.counters(database);
    await untilEnded(database);
    const ended = await figuresOf(workers);
    // What a connection has done is counted for certain once it has ended.
    await closeAll(workers);
    const after = await server.counters(database);
    const steps = runs * STEPS;
    const { rows } = await database.client.query(
      `select extract(epoch from (select max(ended_at) from workflows) - min(started_at))::float8 as seconds,
              (select max(n)::float8 / sum(n)::float8 from (select count(*) as n from workflow_steps group by worker_id) by_worker) as busiest
       from workflow_steps`,
    );
    return {
      processes,
      stepsPerSecond: steps / rows[0].seconds,
      commitsPerStep: (after.commits - started.commits) / steps,
      walBytesPerStep: (after.walBytes - started.walBytes) / steps,
      claims: ended.claims - own.claims,
      emptyClaims: ended.emptyClaims - own.emptyClaims,
      deadlocks: after.deadlocks - before.deadlocks,
      nodeMicrosPerStep: ((ended.cpuSeconds - own.cpuSeconds) * 1e6) / steps,
      serverMicrosPerStep:
        after.cpuSeconds === null || started.cpuSeconds === null
          ? null
          : ((after.cpuSeconds - started.cpuSeconds) * 1e6) / steps,
      busiestShare: rows[0].busiest,
    };
  } finally {
    await closeAll(workers);
    await starter.close();
  }
}

/**
 * Each figure's median over the rounds.
 *
 * @param {readonly Scale[]} rounds
 * @returns {Scale}
 */
export function scaleMedians(rounds) {
  const median = (/** @type {keyof Scale} */ key) =>
    percentile(
      rounds.map((round) => round[key] ?? NaN),
      0.5,
    );
  const server = median('serverMicrosPerStep');
  return {
    processes: rounds[0].processes,
    stepsPerSecond: median('stepsPerSecond'),
    commitsPerStep: median('commitsPerStep'),
    walBytesPerStep: median('walBytesPerStep'),
    claims: median('claims'),
    emptyClaims: median('emptyClaims'),
    // A single one in any round is news.
    deadlocks: rounds.reduce((sum, { deadlocks }) => sum + deadlocks, 0),
    nodeMicrosPerStep: median('nodeMicrosPerStep'),
    serverMicrosPerStep: Number.isNaN(server) ? null : server,
    busiestShare: median('busiestShare'),
  };
}

/**
 * In one transaction: the workers find the whole backlog at its commit.
 *
 * @param {Awaited<ReturnType<typeof openApplication>>} starter
 * @param {number} runs
 */
async function startAtOnce({ workflows, dataSource }, runs) {
  await dataSource.transaction(async (manager) => {
    for (let started = 0; started < runs; started += START_AT_ONCE) {
      const inputs = Array.from({ length: Math.min(START_AT_ONCE, runs - started) }, (_, index) => ({
        args: { order: started + index },
      }));
      await workflows.startMany(FiveSteps, inputs, { manager });
    }
  });
}

/**
 * Looks seldom, and where it costs little: the index of ongoing runs.
 *
 * @param {import('./server.mjs').WorkersDatabase} database
 */
async function untilEnded({ client }) {
  const limit = performance.now() + 300_000;
  for (;;) {
    const { rowCount } = await client.query('select from workflows where ended_at is null limit 1');
    if (rowCount === 0) return;
    if (performance.now() > limit)
      throw new Error('The workers do not get their runs to their end within five minutes');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
