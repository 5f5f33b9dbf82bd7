// @ts-check
// npm run bench:workers [-- --json --only=scale,idle,burst --rounds=5 --runs=6000 --idle-workers=50 --burst=100000]: see ../README.md.

import os from 'node:os';
import { measureBurst } from './burst.mjs';
import { measureIdle } from './idle.mjs';
import { measureScale, scaleMedians } from './scale.mjs';
import { openServer } from './server.mjs';
import { printWorkers } from './table.mjs';

const PROCESSES = [1, 2, 4];
const PARTS = ['scale', 'idle', 'burst'];
const size = {
  rounds: numberOf('rounds', 5),
  runs: numberOf('runs', 6_000),
  idleWorkers: numberOf('idle-workers', 50),
  burst: numberOf('burst', 100_000),
};
const json = process.argv.includes('--json');
const say = (/** @type {string} */ line) => console.error(line);
const parts = partsOf();

const server = await openServer(2);
try {
  const version = (await server.admin.query('show server_version')).rows[0].server_version;
  const where = `PostgreSQL ${version}, Node ${process.version.slice(1)}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`;
  say(where);
  const result = {
    where,
    size,
    scale: parts.includes('scale') ? await scale() : null,
    idle: parts.includes('idle') ? await measureIdle(server, size.idleWorkers, say) : null,
    bursts: parts.includes('burst') ? await bursts() : null,
  };
  if (json) console.log(JSON.stringify(result, null, 2));
  else printWorkers(result);
} finally {
  await server.close();
}

/** The machine's mood changes: what is compared is measured in turn, and medians are compared. */
async function scale() {
  /** @type {import('./scale.mjs').Scale[][]} */
  const rounds = PROCESSES.map(() => []);
  for (let round = 1; round <= size.rounds; round += 1) {
    for (const [index, processes] of PROCESSES.entries())
      rounds[index].push(await measureScale(server, processes, size.runs));
    const figures = rounds.map((all) => `${all.at(-1)?.processes}: ${Math.round(all.at(-1)?.stepsPerSecond ?? 0)}`);
    say(`round ${round} of ${size.rounds}: steps/s by processes ${figures.join(', ')}`);
  }
  return rounds.map(scaleMedians);
}

async function bursts() {
  return [
    await measureBurst(server, 'startMany', size.burst, say),
    await measureBurst(server, 'start', size.burst, say),
  ];
}

function partsOf() {
  const only = flag('only')?.split(',') ?? PARTS;
  const unknown = only.filter((part) => !PARTS.includes(part));
  if (unknown.length) refuse(`--only=${unknown.join(',')} names no part of it; there are ${PARTS.join(', ')}`);
  return only;
}

/**
 * @param {string} name
 * @param {number} usual
 */
function numberOf(name, usual) {
  const given = flag(name);
  if (given === undefined) return usual;
  const number = Number(given);
  if (!Number.isSafeInteger(number) || number < 1) refuse(`--${name}=${given} is no whole number of at least 1`);
  return number;
}

/** @param {string} name */
function flag(name) {
  return process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
}

/**
 * @param {string} why
 * @returns {never}
 */
function refuse(why) {
  console.error(`bench:workers: ${why}.`);
  process.exit(1);
}
