// @ts-check
// Starts beside idle workers: how soon the body runs, how many of them there are in a second, and how many claims they cause.

import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../report.mjs';
import { byKind } from './statements.mjs';
import { Stopwatch } from './stopwatch.mjs';
import { Probe } from './workflows.mjs';

/**
 * @typedef {import('./server.mjs').WorkersServer} WorkersServer
 * @typedef {import('./idle.mjs').Fleet} Fleet
 */

const LATENCY_ROUNDS = 4;
const STARTS_A_ROUND = 25;
const RATE_ROUNDS = 4;
const RATE_MS = 2_500;
const RATE_AT_ONCE = 8;

/**
 * From the call of `start`, in a process without a worker, until the body runs; and how many claims a start causes.
 *
 * @param {WorkersServer} server
 * @param {readonly Fleet[]} fleets
 * @param {(line: string) => void} say
 */
export async function latencies(server, fleets, say) {
  /** @type {{ times: number[], claims: number, polls: number }[]} */
  const all = fleets.map(() => ({ times: [], claims: 0, polls: 0 }));
  for (let round = 0; round <= LATENCY_ROUNDS; round += 1) {
    for (const [index, { database, workers, starter }] of fleets.entries()) {
      await server.forgetStatements().catch(() => undefined);
      const stopwatch = new Stopwatch(workers);
      const times = [];
      for (let start = 0; start < STARTS_A_ROUND; start += 1) {
        // Not in step with any timer of the workers'.
        await sleep(20 + Math.random() * 200);
        times.push(await stopwatch.untilRan(() => starter.workflows.start(Probe)));
      }
      await sleep(300);
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
 * @param {typeof Probe | typeof import('./workflows.mjs').Unserved} workflow
 */
export async function startRates(server, fleets, workflow) {
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
