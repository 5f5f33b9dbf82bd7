// @ts-check
// A burst of starts on one queue: the memory of the worker, and how others are served meanwhile.

import { percentile } from '../report.mjs';
import { openApplication } from './application.mjs';
import { BenchProcess, closeAll } from './processes.mjs';
import { Stopwatch } from './stopwatch.mjs';
import { Elsewhere, Urgent } from './workflows.mjs';

/**
 * @typedef {import('./server.mjs').WorkersServer} WorkersServer
 * @typedef {{ p50: number, p95: number, probes: number }} Latency
 * @typedef {Awaited<ReturnType<typeof measureBurst>>} Burst
 */

/** Runs of a slice of `startMany`; calls of `start` at a time. */
const AT_ONCE = 500;
const IDLE_PROBES = 60;

/**
 * @param {WorkersServer} server
 * @param {'start' | 'startMany'} how
 * @param {number} runs
 * @param {(line: string) => void} say
 */
export async function measureBurst(server, how, runs, say) {
  const [database] = server.databases;
  await database.clear();
  const prober = await openApplication(database.url, false);
  const starter = await BenchProcess.start(database.url, false);
  const worker = await BenchProcess.start(database.url, { concurrency: 100 }).catch(async (error) => {
    await starter.close();
    throw error;
  });
  try {
    const probes = new Probes(prober.workflows, worker);
    // Nobody measures a cold process.
    await starter.startBurst(how, 5_000, AT_ONCE);
    await untilEnded(database);
    await probes.make(20);
    await database.clear();

    const idle = await probes.make(IDLE_PROBES);
    const before = { worker: await worker.figures(), starter: await starter.figures() };
    const begun = performance.now();
    const state = { over: false };
    const ended = starter.startBurst(how, runs, AT_ONCE).then(async (startSeconds) => {
      const left = await ongoing(database);
      await untilEnded(database);
      state.over = true;
      return { startSeconds, left };
    });
    /** @type {number[]} */
    const heaps = [];
    const during = probes.make(Infinity, () => state.over);
    while (!state.over) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      const { heapBytes } = await worker.figures();
      if (!state.over) heaps.push(heapBytes);
      if (heaps.length % 5 === 0) say(`${how}: ${await ongoing(database)} runs to go`);
    }
    const { startSeconds, left } = await ended;
    const seconds = (performance.now() - begun) / 1000;
    const busy = await during;
    const after = { worker: await worker.figures(), starter: await starter.figures() };
    return {
      how,
      runs,
      startsPerSecond: runs / startSeconds,
      runsPerSecond: runs / seconds,
      leftWhenAllWereStarted: left,
      megabytes: {
        heapBefore: before.worker.heapBytes / 2 ** 20,
        heapMost: Math.max(...heaps) / 2 ** 20,
        heapAfter: after.worker.heapBytes / 2 ** 20,
        rssBefore: before.worker.rssBytes / 2 ** 20,
        rssAfter: after.worker.rssBytes / 2 ** 20,
        starterHeapBefore: before.starter.heapBytes / 2 ** 20,
        starterHeapAfter: after.starter.heapBytes / 2 ** 20,
        starterRssMost: after.starter.peakRssBytes / 2 ** 20,
      },
      elsewhere: compared(idle.elsewhere, busy.elsewhere),
      urgent: compared(idle.urgent, busy.urgent),
    };
  } finally {
    await closeAll([starter, worker]);
    await prober.close();
  }
}

/** Starts one run at a time, on another queue and of a higher priority in turn, and waits until its body runs. */
class Probes {
  #stopwatch;
  #workflows;

  /**
   * @param {import('nestjs-pg-workflows').WorkflowService} workflows
   * @param {BenchProcess} worker
   */
  constructor(workflows, worker) {
    this.#workflows = workflows;
    this.#stopwatch = new Stopwatch([worker]);
  }

  /**
   * @param {number} count of each
   * @param {() => boolean} [over]
   */
  async make(count, over = () => false) {
    /** @type {{ elsewhere: number[], urgent: number[] }} */
    const times = { elsewhere: [], urgent: [] };
    for (let probe = 0; probe < count && !over(); probe += 1) {
      times.elsewhere.push(await this.#stopwatch.untilRan(() => this.#workflows.start(Elsewhere)));
      times.urgent.push(await this.#stopwatch.untilRan(() => this.#workflows.start(Urgent)));
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40));
    }
    return times;
  }
}

/**
 * @param {readonly number[]} idle
 * @param {readonly number[]} busy
 */
function compared(idle, busy) {
  const figures = (/** @type {readonly number[]} */ times) => ({
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    probes: times.length,
  });
  return {
    idle: figures(idle),
    busy: figures(busy),
    ratio: percentile(busy, 0.5) / percentile(idle, 0.5),
  };
}

/** @param {import('./server.mjs').WorkersDatabase} database */
async function ongoing({ client }) {
  const { rows } = await client.query('select count(*)::int as left from workflows where ended_at is null');
  return Number(rows[0].left);
}

/** @param {import('./server.mjs').WorkersDatabase} database */
async function untilEnded({ client }) {
  const limit = performance.now() + 600_000;
  for (;;) {
    const { rowCount } = await client.query(
      `select from workflows where ended_at is null and workflow_class = 'Burst' limit 1`,
    );
    if (rowCount === 0) return;
    if (performance.now() > limit) throw new Error('The worker does not get the burst to its end within ten minutes');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
