// @ts-check
// Pictures of the dashboard for the docs, light and dark, of the demo's runs: docs/images/*.png.
//
//   npm run docs:screenshots [-- --no-build]
//
// Needs Chromium: CHROMIUM_PATH, or where Debian's package puts it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));
const images = path.join(root, 'docs/images');
const TOKEN = 'screenshots';
const SIZE = { width: 1280, height: 800 };
const SCHEMES = /** @type {const} */ (['light', 'dark']);

/**
 * @typedef {object} Picture
 * @property {string} name of the file
 * @property {string} at the page, or a filter of runs whose first one is shown
 * @property {string} [run] a query of `api/runs`: the page is that of the first run that it lists
 */

/** @type {Picture[]} */
const PICTURES = [
  { name: 'runs', at: '#/runs' },
  { name: 'run-paused', at: '#/runs/', run: 'class=OrderWorkflow&state=paused&error_class=RouteClosed' },
  { name: 'run-fan-out', at: '#/runs/', run: 'class=OrderWorkflow&state=waiting&step=notifyVendors' },
  { name: 'run-finished', at: '#/runs/', run: 'class=ReviewWorkflow&state=finished' },
  { name: 'attention', at: '#/attention' },
  { name: 'definitions', at: '#/definitions' },
  { name: 'definition', at: '#/definitions/OrderWorkflow?window=7d' },
  { name: 'summary', at: '#/summary' },
];

const demo = spawn(process.execPath, [path.join(root, 'scripts/demo.mjs'), ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, DEMO_ADMIN_TOKEN: TOKEN, NO_COLOR: '1' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(demo, 'exit');
try {
  await takeAll(await dashboardOf(demo));
} finally {
  demo.kill('SIGINT');
  await ended;
}

/**
 * @param {import('node:child_process').ChildProcess} app
 * @returns {Promise<string>} the dashboard's address, once it is there
 */
async function dashboardOf(app) {
  let said = '';
  const over = ended.then(() => Promise.reject(new Error(`The demo ended before it was up:\n${said}`)));
  over.catch(() => {});
  app.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => (said += chunk));
  for (;;) {
    const [, address] = /stays up until Ctrl-C: [^]*?(http:\S+\/admin\/workflows\/) \(any name/.exec(said) ?? [];
    if (address) return address;
    await Promise.race([once(/** @type {import('node:stream').Readable} */ (app.stdout), 'data'), over]);
  }
}

/** @param {string} address */
async function takeAll(address) {
  mkdirSync(images, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH || '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({
        baseURL: address,
        viewport: SIZE,
        colorScheme,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
        httpCredentials: { username: 'olga', password: TOKEN },
      });
      const page = await context.newPage();
      for (const picture of PICTURES) await take(page, picture, colorScheme);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

/**
 * @param {import('playwright-core').Page} page
 * @param {Picture} picture
 * @param {string} scheme
 */
async function take(page, { name, at, run }, scheme) {
  // From nowhere: only the hash differs among pages, which would load nothing anew.
  await page.goto('about:blank');
  await page.goto(run === undefined ? at : `${at}${await firstRun(page, run)}`);
  await page.getByRole('main').waitFor();
  // It asks again and again by itself; what it asked for at first has come when nothing loads any more.
  await page.waitForLoadState('networkidle');
  const file = path.join(images, `${name}-${scheme}.png`);
  await page.screenshot({ path: file, animations: 'disabled', caret: 'hide' });
  console.log(`${path.relative(root, file)}: ${Math.round(statSync(file).size / 1000)} kB`);
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} query
 * @returns {Promise<string>} its id
 */
async function firstRun(page, query) {
  const answer = await page.request.get(`api/runs?limit=1&${query}`);
  /** @type {{ runs?: { id: string }[] }} */
  const { runs } = await answer.json();
  if (!runs?.[0])
    throw new Error(`api/runs?${query} lists no run (${answer.status()}): the demo's history should have one.`);
  return runs[0].id;
}
