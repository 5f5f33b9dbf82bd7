// @ts-check
// Fifty workers that have nothing to do, and what one start among them causes.

import { percentile } from '../report.mjs';
import { openApplication } from './application.mjs';
import { closeAll, figuresOf, startProcesses } from './processes.mjs';
import { byKind } from './statements.mjs';
import { Stopwatch } from './stopwatch.mjs';
import { Probe, SERVED, Unserved } from './workflows.mjs';

/**
 * @typedef {import('./server.mjs').WorkersServer} WorkersServer
 * @typedef {import('./server.mjs').WorkersDatabase} WorkersDatabase
 * @typedef {import('./processes.mjs').BenchProcess} BenchProcess
 * @typedef {{ database: WorkersDatabase, workers: BenchProcess[], starter: Awaited<ReturnType<typeof openApplication>> }} Fleet
 *
 * @typedef {Awaited<ReturnType<typeof measureIdle>>} Idle
 */

const BESIDE_MS = 20_000;
const LATENCY_ROUNDS = 4;
const STARTS_A_ROUND = 25;
const RATE_ROUNDS = 4;
const RATE_MS = 2_500;
const RATE_AT_ONCE = 8;

/**
 * One worker in one database and many in the other, in turn: the machine does the same beside both.
 *
 * @param {WorkersServer} server with two databases
 * @param {number} many
 * @param {(line: string) => void} say
 */
export async function measureIdle(server, many, say) {
  const [one, other] = server.databases;
  /** @type {BenchProcess[]} */
  const started = [];
  try {
    for (const [database, count] of /** @type {const} */ ([
      [one, 1],
      [other, many],
    ])) {
      await database.clear();
      const some = await startProcesses(count, database.url, { queues: SERVED }, (booted) =>
        say(`${booted} of ${count} workers booted`),
      );
      started.push(...some);
    }
    /** @type {[Fleet, Fleet]} */
    const fleets = [
      { database: one, workers: started.slice(0, 1), starter: await openApplication(one.url, false) },
      { database: other, workers: started.slice(1), starter: await openApplication(other.url, false) },
    ];
    try {
      const costs = await idleCosts(server, fleets[1]);
      say('idle workers measured');
      const latency = await latencies(server, fleets, say);
      const served = await startRates(server, fleets, Probe);
      const unserved = await startRates(server, fleets, Unserved);
      say('starts beside them measured');
      return { workers: many, ...costs, latency, served, unserved };
    } finally {
      for (const { starter } of fleets) await starter.close();
    }
  } finally {
    await closeAll(started);
  }
}

/**
 * What they cost while nothing happens, for each of them and second.
 *
 * @param {WorkersServer} server
 * @param {Fleet} fleet
 */
async function idleCosts(server, { database, workers }) {
  // Connections of the boot that nobody needs any more are gone by then.
  await pause(12_000);
  const kindOf = (/** @type {string} */ application) => {
    if (application.startsWith('wf ')) return 'leases';
    return application.endsWith('listener') ? 'listener' : 'pool';
  };
  await server.forgetStatements().catch(() => undefined);
  const [kinds, own, before] = [
    await server.secondsByKind(database, kindOf),
    await figuresOf(workers),
    await server.counters(database),
  ];
  await server.forgetStatements().catch(() => undefined);
  const begun = performance.now();
  await pause(BESIDE_MS);
  const statements = server.seesStatements ? byKind(await server.statements(database)) : null;
  const seconds = (performance.now() - begun) / 1000;
  const [after, kindsAfter, ownAfter] = [
    await server.counters(database),
    await server.secondsByKind(database, kindOf),
    await figuresOf(workers),
  ];
  const each = (/** @type {number} */ total) => total / seconds / workers.length;
  return {
    seconds,
    transactionsPerSecond: each(after.commits - before.commits),
    statementsPerSecond:
      statements && Object.fromEntries(Object.entries(statements).map(([kind, { calls }]) => [kind, each(calls)])),
    /** Processor time of the server's, in thousandths of one core. */
    serverMillicores:
      after.cpuSeconds === null || before.cpuSeconds === null
        ? null
        : each(after.cpuSeconds - before.cpuSeconds) * 1000,
    byConnection: Object.fromEntries(
      Object.entries(kindsAfter).map(([kind, { connections, cpuSeconds }]) => [
        kind,
        {
          connections: connections / workers.length,
          serverMillicores: each(cpuSeconds - (kinds[kind]?.cpuSeconds ?? 0)) * 1000,
        },
      ]),
    ),
    nodeMillicores: each(ownAfter.cpuSeconds - own.cpuSeconds) * 1000,
    rssMegabytes: ownAfter.rssBytes / workers.length / 2 ** 20,
  };
}

/**
 * From the call of `start`, in a process without a worker, until the body runs; and how many claims a start causes.
 *
 * @param {WorkersServer} server
 * @param {readonly Fleet[]} fleets
 * @param {(line: string) => void} say
 */
async function latencies(server, fleets, say) {
  /** @type {{ times: number[], claims: number, polls: number }[]} */
  const all = fleets.map(() => ({ times: [], claims: 0, polls: 0 }));
  for (let round = 0; round <= LATENCY_ROUNDS; round += 1) {
    for (const [index, { database, workers, starter }] of fleets.entries()) {
      await server.forgetStatements().catch(() => undefined);
      const stopwatch = new Stopwatch(workers);
      const times = [];
      for (let start = 0; start < STARTS_A_ROUND; start += 1) {
        // Not in step with any timer of the workers'.
        await pause(20 + Math.random() * 200);
        times.push(await stopwatch.untilRan(() => starter.workflows.start(Probe)));
      }
      await pause(300);
      if (round === 0) continue; // It warms them up.
      all[index].times.push(...times);
      if (!server.seesStatements) continue;
      const { claim, lanes } = byKind(await server.statements(database));
      all[index].claims += claim.calls;
      all[index].polls += lanes.calls;
    }
    say(`latency: round ${round} of ${LATENCY_ROUNDS}`);
  }
  const [alone, among] = all.map(({ times, claims, polls }) => ({
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    // Each poll asks for the lanes and then claims; what is beyond that, the starts have caused.
    claimsPerStart: server.seesStatements ? (claims - polls) / times.length : null,
  }));
  return { alone, among };
}

/**
 * Starts as fast as one process makes them, eight calls at a time, beside one worker and beside many.
 *
 * @param {WorkersServer} server
 * @param {readonly Fleet[]} fleets
 * @param {typeof Probe | typeof Unserved} workflow
 */
async function startRates(server, fleets, workflow) {
  /** @type {{ rates: number[], cpu: number[], claims: number, starts: number }[]} */
  const all = fleets.map(() => ({ rates: [], cpu: [], claims: 0, starts: 0 }));
  for (let round = 0; round <= RATE_ROUNDS; round += 1) {
    for (const [index, { database, starter, workers }] of fleets.entries()) {
      for (const worker of workers) worker.ran = () => {};
      await server.forgetStatements().catch(() => undefined);
      const before = await server.counters(database);
      const begun = performance.now();
      const counts = await Promise.all(
        Array.from({ length: RATE_AT_ONCE }, async () => {
          let starts = 0;
          for (; performance.now() - begun < RATE_MS; starts += 1) await starter.workflows.start(workflow);
          return starts;
        }),
      );
      const seconds = (performance.now() - begun) / 1000;
      const starts = counts.reduce((sum, count) => sum + count, 0);
      const after = await server.counters(database);
      if (round === 0) continue; // It warms them up.
      all[index].rates.push(starts / seconds);
      if (after.cpuSeconds !== null && before.cpuSeconds !== null)
        all[index].cpu.push(((after.cpuSeconds - before.cpuSeconds) * 1e6) / starts);
      all[index].starts += starts;
      if (server.seesStatements) all[index].claims += byKind(await server.statements(database)).claim.calls;
    }
  }
  const [alone, among] = all.map(({ rates, cpu, claims, starts }) => ({
    startsPerSecond: percentile(rates, 0.5),
    serverMicrosPerStart: cpu.length ? percentile(cpu, 0.5) : null,
    claimsPerStart: server.seesStatements ? claims / starts : null,
  }));
  return { alone, among, ratio: among.startsPerSecond / alone.startsPerSecond };
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
