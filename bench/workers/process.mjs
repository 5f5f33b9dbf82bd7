// @ts-check
// A process of its own, started by processes.mjs: an application that works, or one that only starts runs.

import { Client } from 'pg';
import { openApplication } from './application.mjs';
import { Burst } from './workflows.mjs';

/**
 * @typedef {object} Figures
 * @property {number} cpuSeconds of all its threads, since it began
 * @property {number} heapBytes in use, after a collection
 * @property {number} rssBytes
 * @property {number} peakRssBytes since it was asked before
 * @property {number} claims
 * @property {number} emptyClaims those that took nothing
 */

const claims = { all: 0, empty: 0 };
countClaims();

const { url, worker } = JSON.parse(process.env.BENCH_WORKER ?? '{}');
const { workflows, close } = await openApplication(url, worker);

let peakRssBytes = 0;
setInterval(() => (peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss())), 100).unref();

// Whoever started it is gone.
process.on('disconnect', () => process.exit(1));
process.on('message', (/** @type {{ id: number, ask: string, count: number, atOnce: number }} */ request) => {
  answer(request).then(
    (result) => process.send?.({ id: request.id, result }),
    (error) => process.send?.({ id: request.id, error: String(error?.stack ?? error) }),
  );
});
process.send?.({ ready: true });

/** @param {{ ask: string, count: number, atOnce: number }} request */
async function answer({ ask, count, atOnce }) {
  switch (ask) {
    case 'figures':
      return figures();
    case 'startMany':
      return timed(count, atOnce, (inputs) => workflows.startMany(Burst, inputs));
    case 'start':
      return timed(count, atOnce, (inputs) => Promise.all(inputs.map((input) => workflows.start(Burst, input))));
    case 'close':
      await close();
      return null;
    default:
      throw new Error(`A worker process of the bench is not asked for "${ask}"`);
  }
}

/**
 * @param {number} count
 * @param {number} atOnce
 * @param {(inputs: { args: { order: number } }[]) => Promise<unknown>} start
 * @returns {Promise<number>} seconds
 */
async function timed(count, atOnce, start) {
  const begun = performance.now();
  for (let started = 0; started < count; started += atOnce) {
    await start(
      Array.from({ length: Math.min(atOnce, count - started) }, (_, index) => ({ args: { order: started + index } })),
    );
  }
  return (performance.now() - begun) / 1000;
}

/** @returns {Figures} */
function figures() {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const peak = Math.max(peakRssBytes, rss);
  peakRssBytes = 0;
  return {
    cpuSeconds: (user + system) / 1e6,
    heapBytes: heapUsed,
    rssBytes: rss,
    peakRssBytes: peak,
    claims: claims.all,
    emptyClaims: claims.empty,
  };
}

/** The driver is asked, so that nothing of the package needs to know of it. */
function countClaims() {
  // oxlint-disable-next-line typescript/unbound-method -- called with the client
  const query = /** @type {(this: Client, ...args: any[]) => any} */ (Client.prototype.query);
  /**
   * @this {Client}
   * @param {any[]} args
   */
  function counted(...args) {
    const answered = query.apply(this, args);
    if (!args[0]?.name?.startsWith('wf_claim')) return answered;
    claims.all += 1;
    return answered.then((/** @type {{ rows: { id: string | null }[] }} */ result) => {
      if (result.rows.every(({ id }) => id === null)) claims.empty += 1;
      return result;
    });
  }
  Client.prototype.query = counted;
}
