// @ts-check
// npm run bench:data [-- --help]: see ../README.md.

import os from 'node:os';
import { fill } from './fill.mjs';
import { COUNTS, JOINS, LEASES, POLLS, SWEEPS } from './looks.mjs';
import { measureAll } from './measure.mjs';
import { CLAIMS, READS, SETTLEMENTS, SIGNALS, STARTS } from './operations.mjs';
import { readOptions } from './options.mjs';
import { isOver, printMeasured, printSizes, sizesOf } from './report.mjs';
import { openServer } from './sides.mjs';
import { measureUnderSnapshot } from './snapshot.mjs';
import { measureStrangers } from './strangers.mjs';

/** So that there is something to read, and a plan for it. */
const ALMOST_EMPTY = { ended: 200, future: 0, parked: 0 };

/** @param {string} line */
const say = (line) => console.error(line);

/**
 * @param {import('./sides.mjs').Server} server
 * @param {import('./options.mjs').Options} options
 */
async function measureScale(server, { sizes, samples, limit }) {
  const empty = await server.open('empty');
  const full = await server.open('full');
  await fill(empty.client, ALMOST_EMPTY, say);
  await fill(full.client, sizes, say);
  const operations = [STARTS, CLAIMS, SETTLEMENTS, SIGNALS, READS, POLLS, JOINS, LEASES, SWEEPS, COUNTS].flat();
  const measured = await measureAll([empty, full], operations, { samples, limit, say });
  return { measured, sizes: await sizesOf(full.client) };
}

const options = readOptions(process.argv.slice(2));
if (options.help) {
  console.log(options.help);
  process.exit(0);
}

const server = await openServer();
try {
  const where = `PostgreSQL ${server.version}, Node ${process.version.slice(1)}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`;
  say(`${where}; medians of ${options.samples}`);
  const wanted = (/** @type {string} */ part) => options.only.includes(part);
  const scale = wanted('scale') ? await measureScale(server, options) : null;
  const snapshot = wanted('snapshot')
    ? await measureUnderSnapshot(await server.open('no snapshot'), await server.open('snapshot'), {
        rows: options.snapshot,
        samples: options.samples,
        say,
      })
    : [];
  const strangers = wanted('strangers') ? await measureStrangers(server, { ...options, say }) : [];
  const over = scale?.measured.filter(isOver) ?? [];

  if (options.json) {
    console.log(
      JSON.stringify({ where, ...options, scale, snapshot, strangers, over: over.map(({ name }) => name) }, null, 2),
    );
  } else {
    console.log(`\n${where}; medians of ${options.samples}\n`);
    if (scale) {
      printMeasured('scale of data', ['empty', 'full'], scale.measured);
      printSizes(scale.sizes);
    }
    for (const { title, measured } of snapshot) printMeasured(title, ['without', 'under it'], measured);
    for (const { title, measured } of strangers) printMeasured(title, ['alone', 'beside them'], measured);
  }
  if (over.length) say(`Over ${options.limit} × the empty database: ${over.map(({ name }) => name).join('; ')}`);
  if (over.length && options.check) process.exitCode = 1;
} finally {
  await server.close();
}
