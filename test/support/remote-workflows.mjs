// @ts-check
// What worker processes of tests run. Jest's own process has the same classes, over the sources, to start and to judge their runs.

import { existsSync } from 'node:fs';
import { fanOut, step, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

/**
 * What a body, a guard or a job does once it has told that it is reached:
 * - `return`: nothing more
 * - `block`: keeps the event loop busy until the file `until` is there
 * - `wait`: waits for that file
 * - `obey`: waits for its abortSignal, and ends with the signal's reason
 * - `return when aborted`: the same, and returns
 * - `never`: does not end, whatever it is asked
 * - `hold`: the same, with a transaction of its own open on a connection of the pool
 * - `query`: the same, in a statement that does not end
 *
 * @typedef {'return' | 'block' | 'wait' | 'obey' | 'return when aborted' | 'never' | 'hold' | 'query'} Deed
 * @typedef {{ does: Deed, until?: string }} RemoteArgs
 *
 * @typedef {object} Deeds what code of the application's has at hand, in a step or a job
 * @property {AbortSignal} abortSignal
 * @property {string} workflowId
 * @property {import('typeorm').EntityManager} [manager]
 */

const LOOK_MS = 20;

/** @param {object} message to the test that started this process */
function tell(message) {
  if (process.env.REMOTE_WORKER && process.connected) process.send?.(message);
}

/**
 * @param {RemoteArgs} args
 * @param {Deeds} context
 */
async function act({ does, until = '' }, { abortSignal, workflowId, manager }) {
  tell({ kind: 'reached', run: workflowId });
  const aborted = new Promise((resolve) => {
    const told = () => {
      tell({ kind: 'aborted', run: workflowId, reason: String(abortSignal.reason?.message) });
      resolve(abortSignal.reason);
    };
    if (abortSignal.aborted) told();
    abortSignal.addEventListener('abort', told);
  });
  const never = () => new Promise(() => {});
  switch (does) {
    case 'return':
      return;
    case 'block':
      while (!existsSync(until)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
      return;
    case 'wait':
      while (!existsSync(until)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      return;
    case 'obey':
      throw await aborted;
    case 'return when aborted':
      await aborted;
      return;
    case 'hold':
      return manager?.transaction(async (own) => {
        await own.query('select 1');
        await never();
      });
    case 'query':
      await manager?.query('select pg_sleep(3600)');
      return;
    case 'never':
      await never();
  }
}

/** @typedef {import('nestjs-pg-workflows').StepContext<any, any, any>} Context */

/** @param {Context} ctx */
async function perform(ctx) {
  await act(/** @type {RemoteArgs} */ (ctx.args), ctx);
}

const last = step('last', async () => {});

/** @extends {WorkflowOf<null, RemoteArgs>} */
export class RemotePlain extends WorkflowOf {}
Workflow({ name: 'RemotePlain', steps: [step('act', perform), last] })(RemotePlain);

/** @extends {WorkflowOf<null, RemoteArgs>} */
export class RemoteTransactional extends WorkflowOf {}
Workflow({
  name: 'RemoteTransactional',
  steps: [step('act', perform, { transactional: true }), last],
})(RemoteTransactional);

/** @extends {WorkflowOf<null, RemoteArgs>} */
export class RemoteGuarded extends WorkflowOf {}
Workflow({
  name: 'RemoteGuarded',
  steps: [
    step('act', async () => {}, {
      skipIf: async (/** @type {Context} */ ctx) => {
        await perform(ctx);
        return false;
      },
    }),
    last,
  ],
})(RemoteGuarded);

export class RemoteJob {
  /**
   * @param {RemoteArgs} args
   * @param {import('nestjs-pg-workflows').JobContext} job
   */
  async perform(args, job) {
    await act(args, job);
  }
}
WorkflowJob({ name: 'RemoteJob', maxAttempts: 2, backoff: 0 })(RemoteJob);

/** @extends {WorkflowOf<null, RemoteArgs>} */
export class RemoteFan extends WorkflowOf {}
Workflow({
  name: 'RemoteFan',
  steps: [fanOut('act', async (ctx, batch) => batch.add(RemoteJob, ctx.args)), last],
})(RemoteFan);

/** Steps, waits and deadlines that are a matter of clocks. @extends {WorkflowOf<null, {}>} */
export class RemoteTimed extends WorkflowOf {}
Workflow({
  name: 'RemoteTimed',
  steps: [
    step('now', async () => {}),
    step('soon', async () => {}, { wait: 400 }),
    step('held back', async () => {}, { jobOptions: { wait: 400 } }),
    step('again', async (ctx) => ctx.attempt === 1 && ctx.reattempt({ wait: 400 })),
    step('deadline', async () => {}, { waitFor: 'never sent', waitTimeout: 400, onTimeout: 'run' }),
    step('much later', async () => {}, { wait: '30m' }),
  ],
})(RemoteTimed);

/** Waits for a signal, for half an hour at most. @extends {WorkflowOf<null, {}>} */
export class RemotePatient extends WorkflowOf {}
Workflow({
  name: 'RemotePatient',
  steps: [step('wait', async () => {}, { waitFor: 'go', waitTimeout: '30m', onTimeout: 'cancel' })],
})(RemotePatient);

export const REMOTE = [
  RemotePlain,
  RemoteTransactional,
  RemoteGuarded,
  RemoteFan,
  RemoteJob,
  RemoteTimed,
  RemotePatient,
];
