// @ts-check
// A worker process of the kill matrix: a Nest application over the built package. It is spoken to by the process that started it
// (worker-process.mjs), lives as long as that, and dies where it is told to.

import { openApplication } from './application.mjs';
import { Ledger } from './ledger.mjs';
import { stage, workflows } from './workflows.mjs';

/**
 * @typedef {object} Orders what it can be asked to do
 * @property {(settings: Settings) => Promise<void>} open begins to work
 * @property {(place: string) => void} dieAt ends by SIGKILL when this place is reached
 * @property {(place: string) => void} freezeAt says that this place is reached, and waits to be frozen there
 * @property {(what: { workflow: string, args: Record<string, any> }) => Promise<string>} start starts a run, and answers its id
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Settings
 * @property {string} url of the workflow database
 * @property {string} ledger
 * @property {import('nestjs-pg-workflows').StallAction} stallAction
 */

/** @type {Awaited<ReturnType<typeof openApplication>> | undefined} */
let application;
let deadly = '';
let cold = '';
/** Whoever is to freeze it does so at once. */
const FREEZING_MS = 3_000;

stage.reach = (place) => {
  if (place === deadly) process.kill(process.pid, 'SIGKILL');
  if (place !== cold) return;
  cold = '';
  process.send?.({ reached: true });
  // Nothing of this thread goes on meanwhile. Once thawed, the time is over.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FREEZING_MS);
};

/** @type {Orders} */
const orders = {
  async open({ url, ledger, stallAction }) {
    stage.ledger = new Ledger(ledger);
    application = await openApplication(
      url,
      { stallAction, sweepInterval: '1s', worker: { lease: '1s', pollInterval: 250 } },
      { logger: ['error', 'warn'] },
    );
  },
  dieAt(place) {
    deadly = place;
  },
  freezeAt(place) {
    cold = place;
  },
  async start({ workflow, args }) {
    const chosen = workflows[/** @type {keyof typeof workflows} */ (workflow)];
    const run = await /** @type {NonNullable<typeof application>} */ (application).workflows.start(
      chosen,
      /** @type {any} */ ({ args }),
    );
    return run.id;
  },
  async close() {
    await application?.close();
    await stage.ledger?.close();
  },
};

/** @param {{ id: number, order: keyof Orders, with: any }} message */
async function obey({ id, order, with: given }) {
  try {
    process.send?.({ id, value: await orders[order](given) });
  } catch (error) {
    process.send?.({ id, error: String(/** @type {any} */ (error)?.stack ?? error) });
  }
}

process.on('message', (message) => void obey(/** @type {any} */ (message)));
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
