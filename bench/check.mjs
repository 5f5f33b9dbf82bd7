// @ts-check
// This working tree and an earlier commit, on one server, in alternating rounds.

import { Client } from 'pg';
import { startServer } from './database.mjs';
import { FIGURES } from './lines.mjs';
import { compare } from './ratios.mjs';
import { startSide } from './side-process.mjs';
import { CannotCompare, prepareSides } from './worktree.mjs';

/**
 * @typedef {import('./lines.mjs').Line} Line
 * @typedef {import('./measurements.mjs').Figures} Figures
 * @typedef {'here' | 'there'} Side
 *
 * @typedef {object} Measured
 * @property {Line} line
 * @property {Record<Side, Figures[]>} rounds
 * @property {Partial<Record<Side, string>>} failed why the line could not be measured there
 *
 * @typedef {object} Row
 * @property {string} line
 * @property {string} title
 * @property {string} figure
 * @property {boolean} judged
 * @property {import('./ratios.mjs').Comparison} comparison
 */

/**
 * @param {{ commit: string, lines: readonly Line[], rounds: number, threshold: number }} options
 * @param {(line: string) => void} say
 * @param {AbortSignal} signal gives up, and leaves nothing behind
 */
export async function check({ commit, lines, rounds, threshold }, say, signal) {
  const { here, there, tree, other } = prepareSides(commit, say);
  const server = await startServer();
  /** @type {Measured[]} */
  const measured = lines.map((line) => ({ line, rounds: { here: [], there: [] }, failed: {} }));
  const names = { here: `workflows_bench_${process.pid}_here`, there: `workflows_bench_${process.pid}_there` };
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const started = {
        here: await startSide(here, server.url, names.here, signal),
        there: await startSide(there, server.url, names.there, signal),
      };
      /** @type {Side[]} */
      const order = round % 2 ? ['here', 'there'] : ['there', 'here'];
      for (const one of measured) {
        if (Object.keys(one.failed).length > 0) continue;
        for (const side of order) await measureOne(one, side, started[side]);
        signal.throwIfAborted();
        say(`round ${round} of ${rounds}, ${one.line.name}: ${lastOf(one)}`);
      }
      await Promise.all([started.here.end(), started.there.end()]);
    }
  } finally {
    await dropDatabases(server.url, Object.values(names));
    await server.stop();
  }
  const rows = measured.flatMap((one) => rowsOf(one, threshold));
  const failures = measured.flatMap(({ line, failed }) =>
    Object.entries(failed).map(([side, why]) => ({ line: line.name, side, why })),
  );
  if (rows.length === 0)
    throw new CannotCompare(`Nothing could be measured on both sides: ${JSON.stringify(failures, null, 2)}`);
  const worse = rows.filter(({ judged, comparison }) => judged && comparison.verdict === 'worse');
  // What cannot be measured here, and could be there, is worse than slow.
  const passed = worse.length === 0 && failures.every(({ side }) => side !== 'here');
  return { here: tree, there: other, rounds, threshold, rows, failures, passed };
}

/**
 * @param {Measured} one
 * @param {Side} side
 * @param {Awaited<ReturnType<typeof startSide>>} process
 */
async function measureOne(one, side, process) {
  try {
    one.rounds[side].push(await process.measure(one.line.name));
  } catch (error) {
    one.failed[side] = error instanceof Error ? error.message : String(error);
  }
}

/** @param {Measured} one */
function lastOf({ line, rounds, failed }) {
  const [figure] = line.compares;
  const { title, digits } = FIGURES[figure];
  const shown = (/** @type {Side} */ side) =>
    failed[side] ? `failed (${failed[side].split('\n')[0]})` : (rounds[side].at(-1)?.[figure] ?? NaN).toFixed(digits);
  return `here ${shown('here')}, there ${shown('there')} ${title}`;
}

/**
 * @param {Measured} measured
 * @param {number} threshold
 * @returns {Row[]}
 */
function rowsOf({ line, rounds, failed }, threshold) {
  if (Object.keys(failed).length > 0) return [];
  return line.compares.map((figure) => {
    const { better, judged, title } = FIGURES[figure];
    const of = (/** @type {Side} */ side) => rounds[side].map((figures) => figures[figure]);
    return {
      line: line.name,
      title: line.title,
      figure: title,
      judged,
      comparison: compare(of('here'), of('there'), better, threshold),
    };
  });
}

/**
 * @param {string} serverUrl
 * @param {readonly string[]} names
 */
async function dropDatabases(serverUrl, names) {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  for (const name of names) await client.query(`drop database if exists ${name} with (force)`);
  await client.end();
}
