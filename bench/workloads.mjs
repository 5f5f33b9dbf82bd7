// @ts-check
// Runs of five steps again, each with one thing more on the path than plain ones.

import { EntitySchema } from 'typeorm';
import { CancelIf, step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { order, orderAsOfNow } from './payloads.mjs';

/**
 * @typedef {import('./measurements.mjs').Workload} Workload
 * @typedef {import('nestjs-pg-workflows').StepOptions} StepOptions
 * @typedef {import('nestjs-pg-workflows').WorkflowService} WorkflowService
 * @typedef {(ctx: import('nestjs-pg-workflows').StepContext<any, any, any>) => unknown} Body
 * @typedef {new () => WorkflowOf<any, any>} WorkflowClass
 */

const NAMES = ['one', 'two', 'three', 'four', 'five'];
const nothing = async () => {};

/**
 * @param {WorkflowClass} target
 * @param {import('nestjs-pg-workflows').WorkflowOptions} options `name` is needed: classes here have none of their own
 * @param {Body} body of each step
 * @param {StepOptions} stepOptions likewise
 */
function fiveSteps(target, options, body = nothing, stepOptions = {}) {
  Workflow({ ...options, steps: NAMES.map((name) => step(name, body, stepOptions)) })(target);
  return target;
}

/**
 * @param {WorkflowClass} target
 * @param {(index: number) => object} input of a run
 * @returns {Workload}
 */
function workloadOf(target, input = (index) => ({ args: { order: index } })) {
  return {
    contents: { providers: [target], entities: [] },
    steps: NAMES.length,
    start: (workflows, from, count) =>
      workflows.startMany(
        target,
        Array.from({ length: count }, (_, index) => input(from + index)),
      ),
  };
}

/** Five queues with three priorities each: a class for each lane, and runs dealt out to them in turn. @returns {Workload} */
function lanes() {
  const classes = Array.from({ length: 15 }, (_, lane) =>
    fiveSteps(class extends WorkflowOf {}, {
      name: `Lane${lane}`,
      jobOptions: { queue: `queue-${lane % 5}`, priority: Math.floor(lane / 5) },
    }),
  );
  return {
    contents: { providers: classes, entities: [] },
    steps: NAMES.length,
    async start(workflows, from, count) {
      const share = (/** @type {number} */ lane) =>
        Math.floor((from + count + 14 - lane) / 15) - Math.floor((from + 14 - lane) / 15);
      for (const [lane, target] of classes.entries()) {
        const inputs = Array.from({ length: share(lane) }, (_, index) => ({ args: { order: index } }));
        if (inputs.length > 0) await workflows.startMany(target, inputs);
      }
    },
  };
}

/** Each claim asks a cancel guard of the class and a skip guard of the step, and neither wants anything. */
class Guarded extends WorkflowOf {
  unwanted() {
    return false;
  }
}
CancelIf()(
  Guarded.prototype,
  'unwanted',
  /** @type {TypedPropertyDescriptor<() => boolean>} */ (
    Object.getOwnPropertyDescriptor(Guarded.prototype, 'unwanted')
  ),
);
fiveSteps(Guarded, { name: 'Guarded' }, nothing, { skipIf: async () => false });

/** The third step fails once in each run, and its policy has it tried again at once: six attempts. @returns {Workload} */
function failingOnce() {
  const target = fiveSteps(
    class extends WorkflowOf {},
    { name: 'FailingOnce' },
    async ({ stepName, attempt }) => {
      if (stepName === 'three' && attempt === 1) throw new Error('Once');
    },
    { onException: { action: 'reattempt', maxReattempts: 3, report: 'never' } },
  );
  return { ...workloadOf(target), steps: NAMES.length + 1 };
}

class Customer {
  id = 0;
  name = '';
}
const CUSTOMERS = new EntitySchema({
  name: 'Customer',
  target: Customer,
  tableName: 'bench_customers',
  columns: { id: { type: 'int', primary: true }, name: { type: 'text' } },
});

/** Each attempt loads its run's subject. @returns {Workload} */
function subjects() {
  const target = fiveSteps(class extends WorkflowOf {}, { name: 'AboutACustomer', subject: Customer }, async (ctx) => {
    if (ctx.requireSubject().name === '') throw new Error('A customer without a name');
  });
  return {
    ...workloadOf(target, (index) => ({ subject: { id: index } })),
    contents: { providers: [target], entities: [CUSTOMERS] },
    async prepare(client, runs) {
      await client.query('create table if not exists bench_customers (id int primary key, name text not null)');
      await client.query(
        `insert into bench_customers select id, 'customer ' || id from generate_series(0, $1::int - 1) id on conflict do nothing`,
        [runs],
      );
      await client.query('vacuum analyze bench_customers');
    },
  };
}

/**
 * Arguments and each step's output are such values.
 *
 * @param {string} name
 * @param {(index: number) => Record<string, unknown>} values
 */
function payloads(name, values) {
  const target = fiveSteps(class extends WorkflowOf {}, { name }, async (ctx) => ctx.output(values(ctx.args.number)));
  return workloadOf(target, (index) => ({ args: values(index) }));
}

/**
 * What the table says of it, by the name it is asked for.
 *
 * @type {Record<string, { title: string, workload: Workload, runs?: number }>} fewer runs for what takes its time
 */
export const WORKLOADS = {
  lanes: { title: '5 queues x 3 priorities', workload: lanes() },
  guarded: { title: 'a cancel guard, and a skip guard each', workload: workloadOf(Guarded), runs: 800 },
  transactional: {
    title: 'transactional steps',
    workload: workloadOf(
      fiveSteps(class extends WorkflowOf {}, { name: 'Transactional' }, nothing, { transactional: true }),
    ),
    runs: 800,
  },
  policies: { title: 'one reattempt by a policy', workload: failingOnce() },
  payloads: { title: 'arguments and outputs of 1.5 KB', workload: payloads('PlainPayloads', order) },
  dates: { title: 'the same with a Date in them', workload: payloads('DatedPayloads', orderAsOfNow) },
  subjects: { title: 'a subject, loaded for each attempt', workload: subjects() },
};
