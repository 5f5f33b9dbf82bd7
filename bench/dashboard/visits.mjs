// @ts-check
// Pages of the dashboard in a real browser, from the address to what a person came for, and scrolled.

import { chromium } from 'playwright-core';
import { findChromium, noChromium } from '../../scripts/chromium.mjs';

/**
 * @typedef {import('./pages.mjs').Page} Page
 *
 * @typedef {object} Visit
 * @property {number} shownMs from navigation until what the page is for is drawn
 * @property {number} wholeMs until the rest of the page is drawn too, below the screen
 * @property {number} bytes that came over the wire until then
 * @property {number} requests until then
 * @property {number} cpuMs that the main thread computed until then: the load of the machine adds little to it
 * @property {number} taskMs the longest task of the main thread, until the page is quiet; 0: none took the 50 ms from which browsers tell
 * @property {number} frameMs the longest frame while it is scrolled to its end
 * @property {number} dropped frames that did not come while it was scrolled
 * @property {number} frames that should have come
 */

/** Headless browsers draw so often. */
const FRAME_MS = 1000 / 60;
const LONGEST_SCROLL_FRAMES = 240;
const LONGEST_WAIT_MS = 60_000;

// What runs in the page is text: there is a DOM there, and none here.
const WATCH_TASKS = `
globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask', buffered: true })`;
const COUNT_FRAMES = `
globalThis.frameTimes = [];
requestAnimationFrame(function next(time) {
  frameTimes.push(time);
  requestAnimationFrame(next);
})`;
/** Asked once a frame. */
const IS_AT_END = `new Promise((resolve) =>
  requestAnimationFrame(() => resolve(scrollY + innerHeight >= document.documentElement.scrollHeight - 1)))`;
/** Milliseconds since the navigation, once it is there and has been drawn. */
const drawn = (/** @type {import('./pages.mjs').Many} */ [selector, least]) => `new Promise((resolve) => {
  (function look() {
    if (document.querySelectorAll(${JSON.stringify(selector)}).length < ${least}) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  })();
})`;

export async function openBrowser() {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(`Not measured: ${noChromium()}`);
  return chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} base
 * @param {Page} page
 * @param {number} samples
 * @returns {Promise<Visit[]>}
 */
export async function visits(browser, base, page, samples) {
  const { at, cold = false } = page;
  /** @type {Visit[]} */
  const seen = [];
  /** @type {import('playwright-core').BrowserContext | undefined} */
  let context;
  // The first one warms the cache of the browser, and the server.
  for (let sample = -1; sample < samples; sample += 1) {
    if (cold) await context?.close();
    if (cold || !context) context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const visit = await visitOnce(context, new URL(at, base).href, page);
    if (sample >= 0) seen.push(visit);
  }
  await context?.close();
  return seen;
}

/**
 * @param {import('playwright-core').BrowserContext} context
 * @param {string} address
 * @param {Page} wanted
 * @returns {Promise<Visit>}
 */
async function visitOnce(context, address, { shown, whole = shown }) {
  const page = await context.newPage();
  const wire = await context.newCDPSession(page);
  const traffic = { bytes: 0, requests: 0 };
  wire.on('Network.requestWillBeSent', () => (traffic.requests += 1));
  wire.on('Network.loadingFinished', ({ encodedDataLength }) => (traffic.bytes += encodedDataLength));
  await wire.send('Network.enable');
  await wire.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.addInitScript(WATCH_TASKS);
  await page.goto(address, { waitUntil: 'commit' });
  /** @type {Promise<[number, number]>} */
  const times = Promise.all([page.evaluate(drawn(shown)), page.evaluate(drawn(whole))]);
  const [shownMs, wholeMs] = await inTime(times, `${address} shows ${whole.join(' x ')}`);
  const { bytes, requests } = traffic;
  const { metrics } = await wire.send('Performance.getMetrics');
  const cpuMs = (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN) * 1_000;
  await page.waitForLoadState('networkidle');
  /** @type {number} */
  const taskMs = await page.evaluate('Math.max(0, ...longTasks)');
  const scrolled = await scroll(page);
  await page.close();
  return { shownMs, wholeMs, cpuMs, bytes, requests, taskMs, ...scrolled };
}

/**
 * To the end of the page, as a wheel does it: a notch a frame.
 *
 * @param {import('playwright-core').Page} page
 */
async function scroll(page) {
  // Beside what scrolls by itself.
  await page.mouse.move(5, 700);
  await page.evaluate(COUNT_FRAMES);
  for (let notch = 0; notch < LONGEST_SCROLL_FRAMES; notch += 1) {
    await page.mouse.wheel(0, 120);
    if (await page.evaluate(IS_AT_END)) break;
  }
  /** @type {number[]} */
  const times = await page.evaluate('frameTimes');
  const lengths = times.slice(1).map((time, place) => time - (times[place] ?? NaN));
  const frames = Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / FRAME_MS);
  return { frameMs: Math.max(0, ...lengths), dropped: Math.max(0, frames - lengths.length), frames };
}

/**
 * @template Result
 * @param {Promise<Result>} result
 * @param {string} what
 * @returns {Promise<Result>}
 */
async function inTime(result, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${LONGEST_WAIT_MS} ms in vain until ${what}`)), LONGEST_WAIT_MS);
  });
  try {
    return await Promise.race([result, /** @type {Promise<never>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}
