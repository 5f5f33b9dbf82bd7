// @ts-check
// The machine's mood changes: what is compared is measured in turn, and medians are compared.

import { ALL_MODES } from './app.mjs';
import { openDatabase } from './database.mjs';
import { LINES, RUNS } from './lines.mjs';
import { measureFloor, measureThroughput } from './measurements.mjs';
import { mediansOf, whereMeasured } from './report.mjs';

/**
 * @typedef {import('./lines.mjs').Line} Line
 * @typedef {import('./measurements.mjs').Figures} Figures
 *
 * @typedef {object} RateRow
 * @property {string} name
 * @property {string} title
 * @property {Figures} figures medians
 * @property {number} toPlain its steps/s over those of plain steps
 * @property {number} toFloor
 */

/** Not the package's: what PostgreSQL takes for the same rows. @type {Line} */
const FLOOR = {
  name: 'floor',
  title: 'floor: the same rows by hand',
  kind: 'rate',
  compares: [],
  measure: (database) => measureFloor(database, RUNS.floor),
};

/**
 * @param {{ lines: readonly Line[], rounds: number }} options
 * @param {(line: string) => void} say
 */
export async function measureTable({ lines, rounds }, say) {
  const database = await openDatabase();
  try {
    const where = whereMeasured((await database.client.query('show server_version')).rows[0].server_version);
    say(`${where}; ${rounds} rounds`);
    await measureThroughput(database, ALL_MODES, 200); // Nobody measures a cold process.
    // Without these two there is nothing to compare with.
    const plain = LINES.filter(({ name }) => name === 'throughput');
    const others = lines.filter((line) => line.kind === 'rate' && !plain.includes(line));
    const rates = await inTurn([...plain, ...others, FLOOR], rounds, database, say);
    const rest = [];
    for (const line of lines.filter(({ kind }) => kind !== 'rate')) {
      rest.push({ name: line.name, title: line.title, kind: line.kind, figures: await line.measure(database) });
      say(`${line.name} measured`);
    }
    return { where, rounds, runs: RUNS, rates: withRatios(rates), rest };
  } finally {
    await database.close();
  }
}

/**
 * @param {readonly Line[]} lines
 * @param {number} rounds
 * @param {import('./attach.mjs').BenchDatabase} database
 * @param {(line: string) => void} say
 */
async function inTurn(lines, rounds, database, say) {
  const measured = lines.map((line) => ({ line, rounds: /** @type {Figures[]} */ ([]) }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const one of measured) {
      one.rounds.push(await one.line.measure(database));
      say(
        `round ${round} of ${rounds}: ${one.line.name} ${Math.round(one.rounds.at(-1)?.stepsPerSecond ?? 0)} steps/s`,
      );
    }
  }
  return measured.map(({ line: { name, title }, rounds: all }) => ({ name, title, figures: mediansOf(all) }));
}

/**
 * @param {{ name: string, title: string, figures: Figures }[]} rates the first is the plain one, the last the floor
 * @returns {RateRow[]}
 */
function withRatios(rates) {
  const plain = rates[0].figures.stepsPerSecond;
  const floor = rates.at(-1)?.figures.stepsPerSecond ?? NaN;
  return rates.map((row) => ({
    ...row,
    toPlain: row.figures.stepsPerSecond / plain,
    toFloor: row.figures.stepsPerSecond / floor,
  }));
}
