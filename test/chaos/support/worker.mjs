// @ts-check
// A worker process: started by workers.mjs, which tells it what to be, when to stop, and asks how it is.

import { openApp } from './app.mjs';
import { openLedger } from './ledger.mjs';

/**
 * @typedef {object} WorkerConfig
 * @property {string} url
 * @property {string} folder where the ledger goes
 * @property {string} workflows the module with the `providers`
 * @property {number} poolSize
 * @property {import('nestjs-pg-workflows').WorkflowModuleOptions} settings
 *
 * @typedef {{ heapMb: number, bodies: number }} WorkerSample `bodies`: steps and jobs run since it started
 */

/** @type {WorkerConfig} */
const config = JSON.parse(process.env.CHAOS_WORKER ?? '{}');
let stopping = false;

// Whoever started it is gone.
process.on('disconnect', () => {
  if (!stopping) process.exit(1);
});

openLedger(config.folder);
const { providers, bodiesRun } = await import(config.workflows);
const app = await openApp(config.url, { providers, poolSize: config.poolSize, settings: config.settings });

process.on('message', (request) => {
  if (request === 'stop') void stop();
  if (request === 'sample') process.send?.({ sample: sample() });
});
process.send?.('ready');

async function stop() {
  stopping = true;
  await app.close();
  // Nothing else may keep it alive: that it ends now by itself is part of what is tried.
  process.disconnect();
}

/** @returns {WorkerSample} */
function sample() {
  globalThis.gc?.();
  return { heapMb: process.memoryUsage().heapUsed / 2 ** 20, bodies: bodiesRun() };
}
