// @ts-check
// A queue without steps: a run is a chain of jobs, each of which adds the next one.

import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { JOIN_TABLE } from './join-table.mjs';

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

/** @param {string} connectionString */
const presetOf = (connectionString) => ({
  worker: {
    connectionString,
    logger,
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
});

/** @typedef {{ order: number, step: number, steps: number, workflow: string, left: number }} Payload */

/** @type {import('../peer.mjs').Peer} */
export const peer = {
  unfinished: 'select from graphile_worker._private_jobs limit 1',
  failed: 'select from graphile_worker._private_jobs where last_error is not null limit 1',
  recorded: null,
  async prepare(url) {
    await runMigrations({ preset: presetOf(url) });
    const utils = await makeWorkerUtils({ preset: presetOf(url) });
    await utils.withPgClient((client) => client.query(JOIN_TABLE.create));
    await utils.release();
  },
  async open(url, tally, worker) {
    const preset = presetOf(url);
    /** @type {import('graphile-worker').TaskList} */
    const taskList = {
      async step(payload, helpers) {
        const { workflow, order, step, steps } = /** @type {Payload} */ (payload);
        tally.ran(`${workflow}.${step}`, order);
        if (step < steps) await helpers.addJob('step', { workflow, order, step: step + 1, steps });
      },
      async woken(payload) {
        tally.ran('parked.woken', /** @type {Payload} */ (payload).order);
      },
      async crowd(payload, helpers) {
        const { order, left } = /** @type {Payload} */ (payload);
        await helpers.query(JOIN_TABLE.open, [order, left]);
        await helpers.addJobs(Array.from({ length: left }, () => ({ identifier: 'child', payload: { order } })));
      },
      async child(payload, helpers) {
        const { order } = /** @type {Payload} */ (payload);
        tally.ran('crowd.child', order);
        const { rows } = await helpers.query(JOIN_TABLE.decrement, [order, 1]);
        if (/** @type {{ left: number }} */ (rows[0]).left === 0) await helpers.addJob('joined', { order });
      },
      async joined(payload) {
        tally.ran('crowd.joined', /** @type {Payload} */ (payload).order);
      },
    };
    const utils = await makeWorkerUtils({ preset });
    const runner = worker ? await run({ preset, taskList, noHandleSignals: true }) : undefined;
    return {
      startMany: (orders) =>
        utils.addJobs(
          orders.map((order) => ({ identifier: 'step', payload: { workflow: 'five', order, step: 1, steps: 5 } })),
        ),
      start: (workflow, order) =>
        utils.addJob('step', { workflow, order, step: 1, steps: workflow === 'five' ? 5 : 3 }),
      async park(orders) {
        for (const order of orders) tally.ran('parked.parked', order);
      },
      wake: (order) => utils.addJob('woken', { order }),
      fanOut: (order, left) => utils.addJob('crowd', { order, left }),
      async close() {
        await runner?.stop();
        await utils.release();
      },
    };
  },
};
