// @ts-check
// What the storm runs: every kind of step, and bodies that fail, wait, fan out and write. Whether one does is rolled from the run's
// number, the step and the attempt, so that each attempt has its own luck and a seed brings the same luck again.

import { setTimeout as sleep } from 'node:timers/promises';
import { CancelIf, fanOut, matcher, step, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';
import { note } from '../support/ledger.mjs';
import { roll } from '../support/random.mjs';

/**
 * @typedef {import('nestjs-pg-workflows').StepContext<null, { number: number }>} Context `number`: seed and place of the run
 * @typedef {import('nestjs-pg-workflows').StepOptions} StepOptions
 * @typedef {{ number: number, index: number }} TaskArgs
 */

/** What the workers of the storm have as `worker.lease`. */
export const LEASE_MS = 2_000;

/** Passes when tried again. */
export class Hiccup extends Error {}
/** Passes only by a policy. */
export class Lasting extends Error {}
/** Never passes: a run that stays paused. */
export class Stubborn extends Error {}
/** Of a guard. */
export class GuardFailure extends Error {}

let bodies = 0;
/** Steps and jobs that this process began. */
export const bodiesRun = () => bodies;

/** @param {Context} ctx */
const luckOf = (ctx, /** @type {string} */ question) => roll(ctx.args.number, ctx.stepName, ctx.attempt, question);

/**
 * A body: begins, takes its time, does what it is for, and ends.
 *
 * @param {(ctx: Context) => unknown} [act]
 * @returns {(ctx: Context) => Promise<void>}
 */
function body(act = () => undefined) {
  return async (ctx) => {
    bodies += 1;
    note('begin', ctx.attemptIdempotencyKey);
    await takeTime(ctx);
    await act(ctx);
    note('end', ctx.attemptIdempotencyKey);
  };
}

/**
 * Mostly no time at all; a few bodies take long, some longer than a lease, and one in a thousand keeps the event loop for
 * that long.
 *
 * @param {Context} ctx
 */
async function takeTime(ctx) {
  const kind = luckOf(ctx, 'kind');
  const time = luckOf(ctx, 'time');
  if (kind < 0.001) return block(LEASE_MS * 1.2);
  const most = kind < 0.015 ? LEASE_MS * 2.5 : kind < 0.04 ? 600 : 15;
  // Half of them obey when they are asked to stop, the others do not listen.
  await sleep(time * most, undefined, luckOf(ctx, 'obeys') < 0.5 ? { signal: ctx.abortSignal } : {});
}

/** @param {number} ms */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * A body that throws now and then.
 *
 * @param {number} share
 * @param {() => Error} error
 */
const failing = (share, error) =>
  body((ctx) => {
    if (luckOf(ctx, 'fails') < share) throw error();
  });

/**
 * A body that ends, and then says so by a verb now and then.
 *
 * @param {number} share
 * @param {(ctx: Context) => unknown} verb
 */
function saying(share, verb) {
  const run = body();
  return async (/** @type {Context} */ ctx) => {
    await run(ctx);
    if (luckOf(ctx, 'verb') < share) verb(ctx);
  };
}

/**
 * A step whose body may take its time: what the sweep calls hung is hung for longer than a busy machine makes anybody wait.
 *
 * @param {string} name
 * @param {(ctx: Context) => unknown} run
 * @param {StepOptions} [options]
 */
const timed = (name, run, options = {}) => step(name, run, { timeout: '2m', ...options });

/** @extends {WorkflowOf<null, { number: number }>} */
export class StormChain extends WorkflowOf {}
Workflow({
  name: 'StormChain',
  steps: [
    timed('one', body()),
    timed(
      'two',
      body((ctx) => ctx.output({ number: ctx.args.number })),
    ),
    timed('three', body(), { wait: 20 }),
    timed('four', body(), { jobOptions: { priority: 1 } }),
    timed(
      'five',
      saying(0.1, (ctx) => ctx.pause()),
      { jobOptions: { queue: 'other' } },
    ),
    timed('six', body()),
  ],
})(StormChain);

/** @extends {WorkflowOf<null, { number: number }>} */
export class StormGuarded extends WorkflowOf {
  /** @param {Context} ctx */
  unwanted(ctx) {
    return ctx.stepName === 'three' && roll(ctx.args.number, 'unwanted') < 0.05;
  }
}
const unwanted = /** @type {any} */ (Object.getOwnPropertyDescriptor(StormGuarded.prototype, 'unwanted'));
CancelIf()(StormGuarded.prototype, 'unwanted', unwanted);
Workflow({
  name: 'StormGuarded',
  onException: { matching: GuardFailure, action: 'reattempt', wait: 5, report: 'never' },
  steps: [
    timed('one', body(), { skipIf: (ctx) => luckOf(ctx, 'skip') < 0.2 }),
    timed('two', body(), {
      skipIf: async (ctx) => {
        await ctx.manager.query('select 1');
        if (luckOf(ctx, 'guard') < 0.1) throw new GuardFailure('asked at a bad time');
        return luckOf(ctx, 'skip') < 0.2;
      },
    }),
    timed('three', body(), { wait: 10 }),
    timed('four', body(), { skipIf: async (ctx) => (await ctx.outputOf('one')) !== null }),
  ],
})(StormGuarded);

/** @extends {WorkflowOf<null, { number: number }>} */
export class StormStumbles extends WorkflowOf {}
Workflow({
  name: 'StormStumbles',
  steps: [
    timed(
      'retried',
      failing(0.4, () => new Hiccup('not now')),
      {
        onException: { matching: Hiccup, action: 'reattempt', wait: 10, maxReattempts: 3, report: 'never' },
      },
    ),
    timed(
      'passed',
      failing(0.2, () => new Lasting('passed over')),
      { onException: { matching: Lasting, action: 'skip' } },
    ),
    timed(
      'again',
      saying(0.2, (ctx) => ctx.reattempt({ wait: 5 })),
    ),
    timed(
      'stopped',
      failing(0.15, () => new Hiccup('somebody should look')),
    ),
    timed(
      'doomed',
      failing(0.04, () => new Lasting('no use')),
      { onException: { matching: Lasting, action: 'cancel' } },
    ),
    timed(
      'early',
      saying(0.1, (ctx) => (luckOf(ctx, 'which') < 0.5 ? ctx.finish() : ctx.skip())),
    ),
    timed(
      'stubborn',
      body((ctx) => {
        if (roll(ctx.args.number, 'stubborn') < 0.1) throw new Stubborn('never');
      }),
    ),
  ],
})(StormStumbles);

/**
 * Waits for `go` with a deadline.
 *
 * @param {NonNullable<StepOptions['onTimeout']>} onTimeout
 */
function waiting(onTimeout) {
  /** @extends {WorkflowOf<null, { number: number }>} */
  class StormWaits extends WorkflowOf {}
  const name = `StormWaits_${onTimeout}`;
  Workflow({
    name,
    steps: [
      timed('before', body()),
      timed('gate', body(), {
        waitFor: 'go',
        waitTimeout: (ctx) => 100 + Math.ceil(luckOf(ctx, 'wait') * 900),
        onTimeout,
      }),
      timed('after', body()),
    ],
  })(StormWaits);
  return { name, workflow: StormWaits };
}

export const StormWaits = /** @type {const} */ (['pause', 'cancel', 'skip', 'run', 'notify']).map(waiting);

/**
 * Two waits without a deadline; the first takes only a payment that is large enough.
 *
 * @extends {WorkflowOf<null, { number: number }>}
 */
export class StormSignals extends WorkflowOf {}
Workflow({
  name: 'StormSignals',
  steps: [
    timed('ordered', body()),
    timed(
      'paid',
      failing(0.1, () => new Hiccup('the signal is kept')),
      {
        waitFor: matcher('paid', (/** @type {{ amount?: number }} */ payload) => (payload.amount ?? 0) >= 10),
        onException: { matching: Hiccup, action: 'reattempt', wait: 5, report: 'never' },
      },
    ),
    timed('shipped', body(), { waitFor: 'shipped' }),
    timed('closed', body()),
  ],
})(StormSignals);

/** Tries of a member before it is dead-lettered. */
export const TASK_TRIES = 4;

export class StormTask {
  /**
   * @param {TaskArgs} args
   * @param {import('nestjs-pg-workflows').JobContext} job
   */
  async perform({ number, index }, { id, attempt }) {
    bodies += 1;
    note('job', `${id}:${attempt}`);
    await sleep(roll(number, index, attempt, 'time') * 20);
    if (roll(number, index, attempt, 'fails') < 0.15) throw new Hiccup('a job');
    if (index === 0 && roll(number, 'dead') < 0.1) throw new Lasting('this job never works');
  }
}
WorkflowJob({ name: 'StormTask', maxAttempts: TASK_TRIES, backoff: 15 })(StormTask);

/**
 * Fans out.
 *
 * @param {'pause' | 'skip' | 'cancel'} onBatchFailure
 */
function crowd(onBatchFailure) {
  /** @extends {WorkflowOf<null, { number: number }>} */
  class StormCrowd extends WorkflowOf {}
  const name = `StormCrowd_${onBatchFailure}`;
  Workflow({
    name,
    steps: [
      timed('before', body()),
      fanOut(
        'crowd',
        async (ctx, batch) => {
          bodies += 1;
          note('begin', ctx.attemptIdempotencyKey);
          const { number } = ctx.args;
          const size = Math.floor(roll(number, 'size') * 9);
          for (let index = 0; index < size; index += 1) batch.add(StormTask, { number, index });
          note('end', ctx.attemptIdempotencyKey);
        },
        { onBatchFailure, timeout: '2m' },
      ),
      timed('after', body()),
    ],
  })(StormCrowd);
  return { name, workflow: StormCrowd };
}

export const StormCrowds = /** @type {const} */ (['pause', 'skip', 'cancel']).map(crowd);

/** Where transactional bodies write: a row an attempt, there if and only if the attempt completed. */
export const EFFECTS_TABLE =
  'create table storm_effects (workflow_id uuid not null, step text not null, attempt int not null)';

/** @param {Context} ctx */
async function book(ctx) {
  await ctx.manager.query('insert into storm_effects (workflow_id, step, attempt) values ($1, $2, $3)', [
    ctx.workflowId,
    ctx.stepName,
    ctx.attempt,
  ]);
}

/** @extends {WorkflowOf<null, { number: number }>} */
export class StormBooks extends WorkflowOf {}
Workflow({
  name: 'StormBooks',
  onException: { matching: Hiccup, action: 'reattempt', wait: 5, report: 'never' },
  steps: [
    timed('first', body(book), { transactional: true }),
    timed('plain', body()),
    timed(
      'second',
      body(async (ctx) => {
        await book(ctx);
        if (luckOf(ctx, 'fails') < 0.2) throw new Hiccup('after it has written');
      }),
      { transactional: true },
    ),
    timed(
      'third',
      async (ctx) => {
        await body(book)(ctx);
        if (luckOf(ctx, 'verb') < 0.2) ctx.reattempt();
      },
      { transactional: true },
    ),
  ],
})(StormBooks);

export const providers = [
  StormChain,
  StormGuarded,
  StormStumbles,
  ...StormWaits.map(({ workflow }) => workflow),
  StormSignals,
  ...StormCrowds.map(({ workflow }) => workflow),
  StormBooks,
  StormTask,
];

/** What runs are started: by the name that the tables store, how often, and with which steps. */
export const MIX = /** @type {const} */ ([
  { name: 'StormChain', workflow: StormChain, weight: 25, steps: ['one', 'two', 'three', 'four', 'five', 'six'] },
  { name: 'StormGuarded', workflow: StormGuarded, weight: 12, steps: ['one', 'two', 'three', 'four'] },
  {
    name: 'StormStumbles',
    workflow: StormStumbles,
    weight: 18,
    steps: ['retried', 'passed', 'again', 'stopped', 'doomed', 'early', 'stubborn'],
  },
  ...StormWaits.map(({ name, workflow }) => ({ name, workflow, weight: 3, steps: ['before', 'gate', 'after'] })),
  { name: 'StormSignals', workflow: StormSignals, weight: 12, steps: ['ordered', 'paid', 'shipped', 'closed'] },
  ...StormCrowds.map(({ name, workflow }) => ({ name, workflow, weight: 4, steps: ['before', 'crowd', 'after'] })),
  { name: 'StormBooks', workflow: StormBooks, weight: 12, steps: ['first', 'plain', 'second', 'third'] },
]);
