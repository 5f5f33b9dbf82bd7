// @ts-check
// Small scale, where most users live: a few runs at once, a new one whenever one ends.

import { step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { ALL_MODES, openApp } from './app.mjs';
import { rates, untilEnded, whatRan } from './measurements.mjs';

/**
 * Five steps that do nothing; the last body tells whoever waits for its run.
 *
 * @extends {WorkflowOf<null, { order: number }>}
 */
class Told extends WorkflowOf {
  /** @type {Map<number, () => void>} */
  static waiting = new Map();
}
const nothing = async () => {};
Workflow({
  name: 'Told',
  steps: [
    ...['one', 'two', 'three', 'four'].map((name) => step(name, nothing)),
    step('five', async (ctx) => Told.waiting.get(ctx.args.order)?.()),
  ],
})(Told);

const SECONDS = 2;

/**
 * Starts and runs in one process, so commits and WAL are those of both.
 *
 * @param {import('./attach.mjs').BenchDatabase} database
 * @param {number} atOnce
 * @param {import('./measurements.mjs').Watch} watch
 * @returns {Promise<import('./measurements.mjs').Figures>}
 */
export async function measureInFlight(database, atOnce, watch = (work) => work()) {
  await database.clear();
  const before = await database.counters();
  const { workflows, close } = await openApp(database.url, ALL_MODES, { providers: [Told], entities: [] });
  let runs = 0;
  await watch(async () => {
    const until = performance.now() + SECONDS * 1_000;
    const oneAfterTheOther = async () => {
      while (performance.now() < until) {
        const order = runs++;
        /** @type {Promise<void>} */
        const lastBody = new Promise((resolve) => Told.waiting.set(order, resolve));
        await workflows.start(Told, { args: { order } });
        await lastBody;
        Told.waiting.delete(order);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, oneAfterTheOther));
    await untilEnded(database, runs);
  });
  await close();
  const { steps, seconds } = await whatRan(database, runs, 5);
  return rates(before, await database.counters(), steps, seconds);
}
