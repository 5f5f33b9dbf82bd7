// @ts-check
// npm run bench:insights [-- --help]: see ../README.md.

import os from 'node:os';
import { parseArgs } from 'node:util';
import { inPackage, openServer } from '../data/sides.mjs';
import { wholeNumber } from '../whole-number.mjs';
import { fill } from './fill.mjs';
import { className, CLASSES, FLOWS, STEPS } from './workflows.mjs';

/** Milliseconds, as docs/behaviour.md has them (INS-16). */
const BUDGETS = { list: 500, 'class page': 250 };
const WINDOWS = /** @type {const} */ (['1h', '24h', '7d', '30d']);
/** Of this one nothing is asked. */
const WITHOUT_BUDGET = '30d';

const HELP = `npm run bench:insights -- [options]

  --attempts <n>  about so many in all (1000000)
  --older <n>     of them, about so many that ended in the four weeks before the last 24 hours (150000)
  --samples <n>   of each read (15)
  --json          print the figures as JSON

The exit code is 1 when a median is over its budget.`;

const { values: given } = parseArgs({
  options: {
    attempts: { type: 'string', default: '1000000' },
    older: { type: 'string', default: '150000' },
    samples: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (given.help) {
  console.log(HELP);
  process.exit(0);
}

/** @param {number} attempts */
const runsOf = (attempts) => Math.ceil(attempts / STEPS.length);

/** @param {string} line */
const say = (line) => console.error(line);

/** @typedef {{ read: keyof typeof BUDGETS, window: string, first: number, median: number, worst: number, budget: number | null }} Figure */

/**
 * @param {import('../../libs/workflow/src/insights/definitions.js').DefinitionReads} reads
 * @param {number} samples
 */
async function measure(reads, samples) {
  /** @type {Figure[]} */
  const figures = [];
  for (const window of WINDOWS) {
    figures.push(await measureOne('list', window, () => reads.definitions(window), samples));
    // Each sample is of another class: what the one before has read helps it little.
    let place = 0;
    const page = () => reads.definition(className((place++ % CLASSES) + 1), window);
    figures.push(await measureOne('class page', window, page, samples));
  }
  return figures;
}

/**
 * @param {keyof typeof BUDGETS} read
 * @param {string} window
 * @param {() => Promise<unknown>} ask
 * @param {number} samples
 * @returns {Promise<Figure>}
 */
async function measureOne(read, window, ask, samples) {
  const timed = async () => {
    const begun = performance.now();
    await ask();
    return performance.now() - begun;
  };
  const first = await timed();
  const times = [];
  for (let sample = 0; sample < samples; sample += 1) times.push(await timed());
  times.sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? NaN;
  return {
    read,
    window,
    first,
    median,
    worst: times.at(-1) ?? NaN,
    budget: window === WITHOUT_BUDGET ? null : BUDGETS[read],
  };
}

/** @param {Figure} figure */
const isOver = ({ median, budget }) => budget !== null && !(median <= budget);

const samples = wholeNumber('samples', given.samples);
const attempts = { all: wholeNumber('attempts', given.attempts), older: wholeNumber('older', given.older) };
if (attempts.older >= attempts.all) throw new Error('--older: fewer than --attempts are needed');
const server = await openServer(FLOWS);
try {
  const side = await server.open('insights');
  const where = `PostgreSQL ${server.version}, Node ${process.version.slice(1)}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()}), load ${os.loadavg()[0]?.toFixed(1)}`;
  say(where);
  await fill(side.client, [
    { runs: runsOf(attempts.older), from: '29 days', to: '1 day' },
    { runs: runsOf(attempts.all - attempts.older), from: '1 day', to: '0 days' },
  ], say); // prettier-ignore
  const { DefinitionReads } = /** @type {typeof import('../../libs/workflow/src/insights/definitions.js')} */ (
    inPackage('insights/definitions.js')
  );
  const figures = await measure(new DefinitionReads(side.parts), samples);
  const over = figures.filter(isOver);

  if (given.json) {
    console.log(
      JSON.stringify(
        { where, attempts, samples, figures, over: over.map(({ read, window }) => `${read} ${window}`) },
        null,
        2,
      ),
    );
  } else {
    console.log(
      `\n${where}\n${attempts.all.toLocaleString('en')} attempts, ${attempts.older.toLocaleString('en')} of them before the last 24 h, ${CLASSES} classes; medians of ${samples}\n`,
    );
    console.log('read        window  first, ms  median, ms  worst, ms  budget, ms');
    for (const figure of figures) {
      const cells = [figure.first, figure.median, figure.worst].map((ms) => ms.toFixed(0));
      console.log(
        [
          figure.read.padEnd(10),
          figure.window.padStart(6),
          cells[0]?.padStart(9),
          cells[1]?.padStart(10),
          cells[2]?.padStart(9),
          String(figure.budget ?? '').padStart(10),
        ].join('  ') + (isOver(figure) ? '  OVER' : ''),
      );
    }
  }
  if (over.length) process.exitCode = 1;
} finally {
  await server.close();
}
