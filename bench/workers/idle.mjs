// @ts-check
// Fifty workers that have nothing to do, and what one start among them causes.

import { setTimeout as sleep } from 'node:timers/promises';
import { openApplication } from './application.mjs';
import { closeAll, figuresOf, startProcesses } from './processes.mjs';
import { byKind } from './statements.mjs';
import { latencies, startRates } from './starts.mjs';
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
  await sleep(12_000);
  const [connections, own, before] = [
    await server.connections(database),
    await figuresOf(workers),
    await server.counters(database),
  ];
  await server.forgetStatements().catch(() => undefined);
  const begun = performance.now();
  await sleep(BESIDE_MS);
  const statements = server.seesStatements ? byKind(await server.statements(database)) : null;
  const seconds = (performance.now() - begun) / 1000;
  const [after, connectionsAfter, ownAfter] = [
    await server.counters(database),
    await server.connections(database),
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
      Object.entries(costsByKind(connections, connectionsAfter)).map(([kind, { count, cpuSeconds }]) => [
        kind,
        { connections: count / workers.length, serverMillicores: each(cpuSeconds) * 1000 },
      ]),
    ),
    nodeMillicores: each(ownAfter.cpuSeconds - own.cpuSeconds) * 1000,
    rssMegabytes: ownAfter.rssBytes / workers.length / 2 ** 20,
  };
}

/**
 * Of the connections that were there all the while.
 *
 * @param {Awaited<ReturnType<WorkersServer['connections']>>} before
 * @param {Awaited<ReturnType<WorkersServer['connections']>>} after
 */
function costsByKind(before, after) {
  /** @type {Record<string, { count: number, cpuSeconds: number }>} */
  const kinds = {};
  for (const [pid, { application, cpuSeconds }] of after) {
    const earlier = before.get(pid);
    if (!earlier) continue;
    const kind = (kinds[kindOf(application)] ??= { count: 0, cpuSeconds: 0 });
    kind.count += 1;
    kind.cpuSeconds += cpuSeconds - earlier.cpuSeconds;
  }
  return kinds;
}

/** @param {string} application as a connection of the package calls itself */
function kindOf(application) {
  if (application.startsWith('wf ')) return 'leases';
  return application.endsWith('listener') ? 'listener' : 'pool';
}
