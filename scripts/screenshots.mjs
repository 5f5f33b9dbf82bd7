// @ts-check
// Pictures of the dashboard for the docs, of the demo's runs: docs/images/*.png.
//
//   npm run docs:screenshots [-- --no-build]
//
// Needs Chromium: see chromium.mjs. The pages ask for the system's font; Debian's fonts-roboto looks like most people's.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium, noChromium } from './chromium.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const images = path.join(root, 'docs/images');
const TOKEN = 'screenshots';
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

/**
 * @typedef {object} Picture
 * @property {string} name of the file
 * @property {string} at the page, or a filter of runs whose first one is shown
 * @property {string} [run] a query of `api/runs`: the page is that of the first run that it lists
 * @property {{ width: number, height: number }} [size]
 * @property {'dark'} [scheme] light if none is given
 * @property {string} [only] the section that is taken; all of the page if none is given
 * @property {(page: import('playwright-core').Page) => Promise<void>} [act] what somebody does before it is taken
 */

const GATEWAY = 'class=OrderWorkflow&state=paused&error_class=GatewayTimeout';

/** @type {Picture[]} */
const PICTURES = [
  { name: 'runs', at: '#/runs' },
  { name: 'attention', at: '#/attention' },
  { name: 'resume-group', at: '#/attention', act: pressResume, size: { width: 1280, height: 560 } },
  { name: 'run', at: '#/runs/', run: GATEWAY, size: { width: 1280, height: 1000 } },
  { name: 'timeline', at: '#/runs/', run: GATEWAY, act: zoomToAttempts, only: 'Timeline' },
  { name: 'class', at: '#/definitions/OrderWorkflow?window=7d', size: { width: 1280, height: 1250 } },
  { name: 'summary-dark', at: '#/summary', scheme: 'dark', size: { width: 1280, height: 720 } },
  { name: 'run-phone', at: '#/runs/', run: 'class=OrderWorkflow&state=paused&error_class=RouteClosed', size: PHONE },
  { name: 'attention-phone-dark', at: '#/attention', scheme: 'dark', size: PHONE },
];

const executablePath = findChromium();
if (executablePath === undefined) throw new Error(`No pictures: ${noChromium()}`);

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
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    for (const picture of PICTURES) {
      const context = await browser.newContext({
        baseURL: address,
        viewport: picture.size ?? DESK,
        colorScheme: picture.scheme ?? 'light',
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
        httpCredentials: { username: 'olga', password: TOKEN },
      });
      await take(await context.newPage(), picture);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

/**
 * @param {import('playwright-core').Page} page
 * @param {Picture} picture
 */
async function take(page, { name, at, run, act, only }) {
  await page.goto(run === undefined ? at : `${at}${await firstRun(page, run)}`);
  await page.getByRole('main').waitFor();
  // It asks again and again by itself; what it asked for at first has come when nothing loads any more.
  await page.waitForLoadState('networkidle');
  const file = path.join(images, `${name}.png`);
  await act?.(page);
  const shown = only === undefined ? page : page.getByRole('region', { name: only });
  await shown.screenshot({ path: file, animations: 'disabled', caret: 'hide' });
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

/**
 * The first group's dialog, with a reason in it.
 *
 * @param {import('playwright-core').Page} page
 */
async function pressResume(page) {
  await page
    .getByRole('button', { name: /^Resume/ })
    .first()
    .click();
  await page.getByRole('dialog').getByLabel('Reason').fill('the storm is over');
}

/**
 * To where the attempts follow each other: the wheel keeps what is under the pointer.
 *
 * @param {import('playwright-core').Page} page
 */
async function zoomToAttempts(page) {
  const timeline = page.getByRole('group', { name: 'Timeline', exact: true });
  const part = (/** @type {string} */ line, /** @type {string} */ name) =>
    timeline.locator('.timeline-line', { hasText: line }).locator(`[data-part="${name}"]`).boundingBox();
  await page.keyboard.down('Control');
  for (let turns = 0; turns < 40; turns += 1) {
    const [first, last] = [await part('capture · 1', 'ran'), await part('capture · 5', 'waited')];
    if (!first || !last || last.width > 350) break;
    await page.mouse.move(first.x, first.y);
    await page.mouse.wheel(0, -100);
  }
  await page.keyboard.up('Control');
}
