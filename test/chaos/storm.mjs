// @ts-check
// Workers are killed, PostgreSQL crashes, people change their minds: npm run test:storm. See README.md.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readOptions, whole } from './support/command.mjs';
import { runStorm } from './storm/course.mjs';

const HELP = `Usage: npm run test:storm [-- options]

Three worker processes run thousands of workflows of every kind while clients issue verbs at random, a worker is killed every
second, and PostgreSQL (a server of its own) crashes and recovers. Then everything is resumed until nothing moves, and what is
left is held against what the package promises. Exit code 0 only when all of it holds.

  --runs <n>        runs to start (5000)
  --rate <n>        runs started a second, at most (100)
  --under-way <n>   runs that move at once, at most (400)
  --workers <n>     worker processes (3)
  --kill-every <ms> between two kills; 0: none (1000)
  --restarts <n>    crashes of PostgreSQL, spread over the runs (3)
  --seed <n>        of the choices; which choice meets which moment is the machine's (random, and printed)
  --patience <s>    seconds without any change, after which what is left counts as stuck (60)
  --keep            keeps ledgers and the workers' logs (kept when something is wrong)
  --json            prints the result as JSON
  --help
`;

const given = readOptions(HELP, {
  runs: whole(5_000, 1),
  rate: whole(100, 1),
  'under-way': whole(400, 1),
  workers: whole(3, 1),
  'kill-every': whole(1_000),
  restarts: whole(3),
  seed: whole(Math.floor(Math.random() * 2 ** 31)),
  patience: whole(60, 1),
  keep: { type: 'boolean' },
});

const folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-storm-'));
const say = (/** @type {string} */ line) => console.error(line);
const result = await runStorm(
  {
    seed: given.seed,
    runs: given.runs,
    rate: given.rate,
    underWay: given['under-way'],
    workers: given.workers,
    killEvery: given['kill-every'],
    restarts: given.restarts,
    patience: given.patience * 1_000,
    folder,
  },
  say,
);
if (given.json) console.log(JSON.stringify(result, null, 2));
else tell(result);
if (result.ok && !given.keep) rmSync(folder, { recursive: true });
else say(`Ledgers and logs: ${folder}`);
process.exitCode = result.ok ? 0 : 1;

/** @param {typeof result} outcome */
function tell({ problems, ok, verbs, ...rest }) {
  for (const [name, value] of Object.entries(rest)) {
    console.log(`${name.padEnd(22)} ${typeof value === 'object' ? pairs(value) : shown(value)}`);
  }
  for (const [name, count] of Object.entries(verbs)) console.log(`verb ${name.padEnd(17)} ${pairs(count)}`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(ok ? 'Everything held.' : `${problems.length} things did not hold.`);
}

/** @param {Record<string, unknown>} counts */
function pairs(counts) {
  return (
    Object.entries(counts)
      .map(([name, value]) => `${name} ${shown(value)}`)
      .join(', ') || 'none'
  );
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value);
}
