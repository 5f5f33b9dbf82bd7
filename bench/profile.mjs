// @ts-check
// Where JavaScript's time goes while a line is measured: V8's sampling profiler, on the part of it that counts.

import { Session } from 'node:inspector/promises';
import { ALL_MODES } from './app.mjs';
import { openDatabase } from './database.mjs';
import { measureThroughput } from './measurements.mjs';
import { whereMeasured } from './report.mjs';
import { selfTimes } from './self-times.mjs';

const SAMPLED_EVERY_US = 200;

/**
 * The measuring process is the worker's too, so the bench's own code is in it (room "bench").
 *
 * @param {import('./lines.mjs').Line} line
 * @param {(line: string) => void} say
 */
export async function profile(line, say) {
  const database = await openDatabase();
  const session = new Session();
  session.connect();
  /** @type {import('node:inspector').Profiler.Profile[]} */
  const profiles = [];
  /** @type {import('./measurements.mjs').Watch} */
  const watch = async (work) => {
    await session.post('Profiler.start');
    try {
      return await work();
    } finally {
      profiles.push((await session.post('Profiler.stop')).profile);
    }
  };
  try {
    await measureThroughput(database, ALL_MODES, 500); // Nobody measures a cold process.
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLED_EVERY_US });
    say(`profiling ${line.name}`);
    const figures = await line.measure(database, watch);
    const [taken] = profiles;
    if (!taken) throw new Error(`${line.name} cannot be profiled: it hands nothing to whoever watches`);
    return { line: line.name, title: line.title, where: whereMeasured(), figures, profile: taken, ...selfTimes(taken) };
  } finally {
    session.disconnect();
    await database.close();
  }
}
