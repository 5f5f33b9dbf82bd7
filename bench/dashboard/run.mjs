// @ts-check
// npm run bench:dashboard [-- --help]: see ../README.md.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startPostgres } from '../../scripts/postgres.mjs';
import { wholeNumber } from '../whole-number.mjs';
import { fill } from './fill.mjs';
import { pagesOf } from './pages.mjs';
import { openBrowser, visits } from './visits.mjs';

/** Milliseconds: a page is there within a second, and no frame is missed that an eye would miss. */
const BUDGETS = { shown: 1_000, frame: 100 };

/** Of fewer, a page that is visited may have nothing to show. */
const LEAST_RUNS = 50_000;

const HELP = `npm run bench:dashboard -- [options]

  --runs <n>      in all (100000; at least ${LEAST_RUNS})
  --attempts <n>  of one run (500)
  --members <n>   of one fan-out (10000)
  --samples <n>   of each page (7)
  --only <text>   pages whose name has it
  --json          print the figures as JSON

The exit code is 1 when a median is over its budget: shown in ${BUDGETS.shown} ms, no frame of over ${BUDGETS.frame} ms while it is scrolled.`;

const { values: given } = parseArgs({
  options: {
    runs: { type: 'string', default: '100000' },
    attempts: { type: 'string', default: '500' },
    members: { type: 'string', default: '10000' },
    samples: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (given.help) {
  console.log(HELP);
  process.exit(0);
}

/**
 * @typedef {object} Figure medians, but for the worst
 * @property {string} page
 * @property {number} shownMs
 * @property {number} worstMs
 * @property {number} wholeMs
 * @property {number} cpuMs of the main thread
 * @property {number} timesNothing the time beside that of a page that shows nothing
 * @property {number | null} apiMs what it asks for most of all, asked for by a program
 * @property {number} kB over the wire
 * @property {number} requests
 * @property {number} taskMs
 * @property {number} frameMs
 * @property {number} dropped
 * @property {number} frames
 */

/** @param {string} line */
const say = (line) => console.error(line);

/** @param {readonly number[]} values */
function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/**
 * @param {string} databaseUrl
 * @returns {Promise<{ page: string, close: () => Promise<void> }>}
 */
async function startApplication(databaseUrl) {
  const script = fileURLToPath(new URL('./application.mjs', import.meta.url));
  const child = fork(script, {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const over = ended.then(() => Promise.reject(new Error('The application ended as it booted: see its words above.')));
  over.catch(() => undefined);
  const [told] = await Promise.race([once(child, 'message'), over]);
  return {
    page: told.page,
    async close() {
      child.disconnect();
      await ended;
    },
  };
}

/** The time of the answer alone, read by a program on the same connection as before. @param {string} url @param {number} samples */
async function answers(url, samples) {
  const times = [];
  for (let sample = -1; sample < samples; sample += 1) {
    const begun = performance.now();
    const response = await fetch(url);
    await response.text();
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    if (sample >= 0) times.push(performance.now() - begun);
  }
  return median(times);
}

const sizes = {
  runs: wholeNumber('runs', given.runs, LEAST_RUNS),
  attempts: wholeNumber('attempts', given.attempts),
  members: wholeNumber('members', given.members),
};
const samples = wholeNumber('samples', given.samples);
const server = await startPostgres({ settings: { max_wal_size: '8GB', shared_buffers: '1GB' } });
const admin = new Client({ connectionString: server.url });
await admin.connect();
const database = `workflows_dashboard_${process.pid}`;
await admin.query(`create database ${database}`);
const url = new URL(server.url);
url.pathname = `/${database}`;
/** @type {(() => Promise<unknown>)[]} */
const closing = [];
try {
  const app = await startApplication(url.href);
  closing.push(app.close);
  const client = new Client({ connectionString: url.href });
  await client.connect();
  closing.push(() => client.end());
  const { tried, fanned } = await fill(client, sizes, say);
  /** @type {any} */
  const first = await (await fetch(`${app.page}api/runs?limit=50&class=Flow03&state=finished`)).json();
  const pages = pagesOf({ tried, fanned, cursor: first.next_cursor });
  const browser = await openBrowser();
  closing.push(() => browser.close());
  const version = (await client.query('show server_version')).rows[0].server_version;
  const where = `Chromium ${browser.version()}, PostgreSQL ${version}, Node ${process.version.slice(1)}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`;

  const loadBefore = os.loadavg()[0] ?? NaN;
  /** @type {Figure[]} */
  const figures = [];
  /** @type {number | null} */
  let nothingMs = null;
  for (const page of pages) {
    const isBaseline = page.api === null;
    if (!isBaseline && !page.name.includes(given.only)) continue;
    say(page.name);
    const apiMs = page.api === null ? null : await answers(`${app.page}${page.api}`, samples);
    const seen = await visits(browser, app.page, page, samples);
    /** @param {keyof import('./visits.mjs').Visit} key */
    const of = (key) => median(seen.map((visit) => visit[key]));
    nothingMs ??= of('shownMs');
    figures.push({
      page: page.name,
      shownMs: of('shownMs'),
      worstMs: Math.max(...seen.map(({ shownMs }) => shownMs)),
      wholeMs: of('wholeMs'),
      cpuMs: of('cpuMs'),
      timesNothing: of('shownMs') / nothingMs,
      apiMs,
      kB: of('bytes') / 1_000,
      requests: of('requests'),
      taskMs: of('taskMs'),
      frameMs: of('frameMs'),
      dropped: of('dropped'),
      frames: of('frames'),
    });
  }
  const load = [loadBefore, os.loadavg()[0] ?? NaN].map((one) => one.toFixed(1));
  const isOver = (/** @type {Figure} */ { shownMs, frameMs }) =>
    !(shownMs <= BUDGETS.shown && frameMs <= BUDGETS.frame);
  const over = figures.filter(isOver);
  if (given.json) {
    console.log(JSON.stringify({ where, load, sizes, samples, figures, over: over.map(({ page }) => page) }, null, 2));
  } else {
    console.log(`\n${where}; load ${load.join(' to ')}`);
    console.log(`${sizes.runs.toLocaleString('en')} runs; medians of ${samples}\n`);
    const width = Math.max(...figures.map(({ page }) => page.length));
    console.log(`${'page'.padEnd(width)}  shown, ms  worst, ms  whole, ms  CPU, ms  × nothing  API alone, ms      kB  requests  longest task, ms  longest frame, ms  frames dropped`); // prettier-ignore
    for (const figure of figures) {
      const cells = [
        figure.shownMs.toFixed(0).padStart(9),
        figure.worstMs.toFixed(0).padStart(9),
        figure.wholeMs.toFixed(0).padStart(9),
        figure.cpuMs.toFixed(0).padStart(7),
        figure.timesNothing.toFixed(1).padStart(9),
        (figure.apiMs?.toFixed(0) ?? '').padStart(13),
        figure.kB.toFixed(1).padStart(6),
        figure.requests.toFixed(0).padStart(8),
        (figure.taskMs === 0 ? 'under 50' : figure.taskMs.toFixed(0)).padStart(16),
        figure.frameMs.toFixed(0).padStart(17),
        `${figure.dropped} of ${figure.frames}`.padStart(14),
      ];
      console.log(`${figure.page.padEnd(width)}  ${cells.join('  ')}${isOver(figure) ? '  OVER' : ''}`);
    }
  }
  if (over.length) process.exitCode = 1;
} finally {
  for (const close of closing.toReversed()) await close();
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
  await server.stop();
}
