// @ts-check
// What is measured, in the order of the table's columns.

import { inChild } from './process.mjs';

/**
 * @typedef {Partial<Record<FigureName, number>>} Figures
 * @typedef {keyof typeof figures} FigureName
 *
 * @typedef {object} Turn
 * @property {import('./peer.mjs').Workload} workload
 * @property {(run: Context) => Promise<Figures>} measure
 *
 * @typedef {{ node: string, peer: string, server: import('./server.mjs').Server }} Context
 */

/** Where a greater figure is the better one, `more` is set. */
export const figures = {
  stepsPerSecond: { title: 'steps/s, 4,000 at once', more: true },
  commitsPerStep: { title: 'commits/step', more: false },
  walPerStep: { title: 'WAL bytes/step', more: false },
  with10: { title: 'steps/s, 10 at once', more: true },
  with20: { title: 'steps/s, 20 at once', more: true },
  idleP50: { title: '3 steps, idle: p50 ms', more: false },
  idleP95: { title: 'idle p95 ms', more: false },
  wakeP50: { title: 'event to body: p50 ms', more: false },
  wakeP95: { title: 'event p95 ms', more: false },
  fanOutMs: { title: 'fan-out of 1,000: ms', more: false },
};

const RUNS = 4_000;
const STEPS = RUNS * 5;
const LIMITS = { times: 200, seconds: 15 };

/** @type {readonly Turn[]} */
export const turns = [
  {
    workload: 'atOnce',
    measure: ({ node, peer, server }) =>
      server.withDatabase(async ({ url, counters }) => {
        await inChild(node, { peer, task: 'startAtOnce', url, size: { runs: RUNS } });
        const before = await counters();
        const { stepsPerSecond } = await inChild(node, { peer, task: 'workAtOnce', url, size: { runs: RUNS } });
        const after = await counters();
        return {
          stepsPerSecond,
          commitsPerStep: (after.commits - before.commits) / STEPS,
          walPerStep: (after.walBytes - before.walBytes) / STEPS,
        };
      }),
  },
  { workload: 'inFlight', measure: async (run) => ({ with10: await inFlight(run, 10) }) },
  { workload: 'inFlight', measure: async (run) => ({ with20: await inFlight(run, 20) }) },
  {
    workload: 'idle',
    measure: async (run) => {
      const ms = await oneByOne(run, 'measureIdle');
      return { idleP50: percentile(ms, 0.5), idleP95: percentile(ms, 0.95) };
    },
  },
  {
    workload: 'wakeUp',
    measure: async (run) => {
      const ms = await oneByOne(run, 'measureWakeUp');
      return { wakeP50: percentile(ms, 0.5), wakeP95: percentile(ms, 0.95) };
    },
  },
  {
    workload: 'fanOut',
    measure: ({ node, peer, server }) =>
      server.withDatabase(async ({ url }) => {
        const size = { children: 1_000, times: 3 };
        const { ms } = await inChild(node, { peer, task: 'measureFanOut', url, size });
        return { fanOutMs: percentile(ms, 0.5) };
      }),
  },
];

/**
 * @param {Context} run
 * @param {number} runs
 */
function inFlight({ node, peer, server }, runs) {
  return server.withDatabase(async ({ url }) => {
    const size = { inFlight: runs, seconds: 3 };
    return (await inChild(node, { peer, task: 'keepInFlight', url, size })).stepsPerSecond;
  });
}

/**
 * @param {Context} run
 * @param {'measureIdle' | 'measureWakeUp'} task
 */
function oneByOne({ node, peer, server }, task) {
  return server.withDatabase(async ({ url }) => (await inChild(node, { peer, task, url, size: LIMITS })).ms);
}

/**
 * @param {readonly number[]} values
 * @param {number} share 0.95: the value that 95 % do not exceed
 */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
