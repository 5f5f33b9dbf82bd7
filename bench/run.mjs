// @ts-check
// npm run bench [-- --json]: see README.md.

import os from 'node:os';
import { openDatabase } from './database.mjs';
import { ALL_MODES, NO_MODES } from './app.mjs';
import { measureFloor, measureLatency, measureThroughput } from './measurements.mjs';
import { measureFanOut, measureParked, measureWakeUp } from './waiting.mjs';
import { mediansOf, percentile, printTable } from './report.mjs';

const ROUNDS = 5;
const RUNS = { batched: 4_000, unbatched: 800, floor: 4_000, latency: 200 };
const json = process.argv.includes('--json');
const say = (/** @type {string} */ line) => console.error(line);

const database = await openDatabase();
try {
  const version = (await database.client.query('show server_version')).rows[0].server_version;
  const where = `PostgreSQL ${version}, Node ${process.version.slice(1)}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`;
  say(`${where}; ${ROUNDS} rounds`);

  // The machine's mood changes: what is compared is measured in turn, and medians are compared.
  /** @type {Record<'batched' | 'unbatched' | 'floor', import('./measurements.mjs').Throughput[]>} */
  const rounds = { batched: [], unbatched: [], floor: [] };
  await measureThroughput(database, ALL_MODES, 200); // Nobody measures a cold process.
  for (let round = 1; round <= ROUNDS; round += 1) {
    rounds.batched.push(await measureThroughput(database, ALL_MODES, RUNS.batched));
    rounds.unbatched.push(await measureThroughput(database, NO_MODES, RUNS.unbatched));
    rounds.floor.push(await measureFloor(database, RUNS.floor));
    const steps = Object.entries(rounds).map(([name, all]) => `${name} ${Math.round(all.at(-1)?.stepsPerSecond ?? 0)}`);
    say(`round ${round}: steps/s ${steps.join(', ')}`);
  }
  const latencies = await measureLatency(database, RUNS.latency);
  say('latency measured');
  const wakeUp = await measureWakeUp(database, 200);
  say('wake-up measured');
  const fanOuts = [];
  for (const members of [1_000, 10_000, 100_000]) {
    fanOuts.push(await measureFanOut(database, members));
    say(`fan-out of ${members} measured`);
  }
  const parked = await measureParked(database, 100_000);

  const medians = {
    batched: mediansOf(rounds.batched),
    unbatched: mediansOf(rounds.unbatched),
    floor: mediansOf(rounds.floor),
  };
  const result = {
    where,
    rounds: ROUNDS,
    runs: RUNS,
    ...medians,
    ratios: {
      batchedToUnbatched: medians.batched.stepsPerSecond / medians.unbatched.stepsPerSecond,
      batchedToFloor: medians.batched.stepsPerSecond / medians.floor.stepsPerSecond,
    },
    latency: { p50: percentile(latencies, 0.5), p95: percentile(latencies, 0.95) },
    wakeUp,
    fanOuts,
    parked,
  };
  if (json) console.log(JSON.stringify(result, null, 2));
  else printTable(result);
} finally {
  await database.close();
}
