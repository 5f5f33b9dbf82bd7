// @ts-check
// What is under way when a worker dies. Each step does something outside that nobody can take back, something outside that is
// keyed, and (a transactional one) something in the workflow database.

import { fanOut, matcher, step, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

/**
 * @typedef {import('./ledger.mjs').Ledger} Ledger
 * @typedef {import('nestjs-pg-workflows').StepContext} StepContext
 */

/** What a worker process gives its steps. */
export const stage = {
  /** @type {Ledger | null} */
  ledger: null,
  /**
   * Told of every place that is reached: a process may be ordered to die there.
   *
   * @param {string} _place
   */
  reach(_place) {},
};

/** @param {StepContext} ctx */
async function work(ctx) {
  stage.reach(`${ctx.stepName}:begin`);
  const doer = { run: ctx.workflowId, step: ctx.stepName, attempt: ctx.attempt, member: -1, tried: 1 };
  await stage.ledger?.write(doer, ctx.stepIdempotencyKey);
  stage.reach(`${ctx.stepName}:end`);
}

/** Where a transactional step writes, in the workflow database. */
export const CREATE_WRITTEN = 'create table written (run uuid not null, step text not null, attempt int not null)';

/** @param {StepContext} ctx */
async function workInTransaction(ctx) {
  await ctx.manager.query('insert into written (run, step, attempt) values ($1, $2, $3)', [
    ctx.workflowId,
    ctx.stepName,
    ctx.attempt,
  ]);
  await work(ctx);
}

const one = step('one', work);
const three = step('three', work);

export class Chain extends WorkflowOf {}
Workflow({ name: 'Chain', steps: [one, step('two', work), three] })(Chain);

export class Guarded extends WorkflowOf {}
const guard = () => stage.reach('two:guard');
Workflow({ name: 'Guarded', steps: [one, step('two', work, { skipIf: guard }), three] })(Guarded);

const go = matcher('go', () => {
  stage.reach('two:gate');
  return true;
});
export class Gated extends WorkflowOf {}
Workflow({ name: 'Gated', steps: [one, step('two', work, { waitFor: go }), three] })(Gated);

/** What is no plain return is settled by itself, one run at a time. */
export class Skipping extends WorkflowOf {}
Workflow({
  name: 'Skipping',
  steps: [
    one,
    step('two', async (ctx) => {
      await work(ctx);
      ctx.skip();
    }),
    three,
  ],
})(Skipping);

export class Transactional extends WorkflowOf {}
Workflow({ name: 'Transactional', steps: [one, step('two', workInTransaction, { transactional: true }), three] })(
  Transactional,
);

/**
 * @typedef {object} Member
 * @property {string} step
 * @property {number} attempt the fan-out's
 * @property {number} n
 * @property {string} key
 */
class Task {
  /**
   * @param {Member} member
   * @param {import('nestjs-pg-workflows').JobContext} job
   */
  async perform({ step: name, attempt, n, key }, job) {
    stage.reach(`member ${n}:begin`);
    await stage.ledger?.write({ run: job.workflowId, step: name, attempt, member: n, tried: job.attempt }, key);
    stage.reach(`member ${n}:end`);
  }
}
export class Patient extends Task {}
WorkflowJob({ name: 'Patient', maxAttempts: 3, backoff: 0 })(Patient);
/** Dead-lettered at its first failure. */
export class Spent extends Task {}
WorkflowJob({ name: 'Spent', maxAttempts: 1 })(Spent);

/**
 * @param {string} name
 * @param {new () => Task} job
 * @param {number} members
 */
function fanning(name, job, members) {
  /** @type {(ctx: StepContext, batch: import('nestjs-pg-workflows').FanOutBatch) => Promise<void>} */
  const body = async (ctx, batch) => {
    await work(ctx);
    for (let n = 0; n < members; n += 1) {
      batch.add(job, { step: ctx.stepName, attempt: ctx.attempt, n, key: `${ctx.stepIdempotencyKey}:${n}` });
    }
  };
  class Fanning extends WorkflowOf {}
  Workflow({ name, steps: [one, fanOut('two', body), three] })(Fanning);
  return Fanning;
}

export const Crowd = fanning('Crowd', Patient, 3);
/** Its only member is its last one too. */
export const Single = fanning('Single', Patient, 1);
export const Doomed = fanning('Doomed', Spent, 2);

export const workflows = { Chain, Guarded, Gated, Skipping, Transactional, Crowd, Single, Doomed };
export const providers = [...Object.values(workflows), Patient, Spent];
