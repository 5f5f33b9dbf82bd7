// @ts-check
// What an application and its worker do all day: starts, claims, settlements, verbs, signals, reads.

import { randomUUID } from 'node:crypto';
import { claim, forget, park, settle, startAndClaim, startRuns } from './engine.mjs';
import { Account, Approval, Order } from './workflows.mjs';

/**
 * @typedef {import('./sides.mjs').Side} Side
 * @typedef {import('./engine.mjs').Handle} Handle
 * @typedef {import('./measure.mjs').Operation<any>} Operation
 */

/** @type {Operation[]} */
export const STARTS = [
  {
    name: 'start one run',
    run: ({ workflows }) =>
      workflows.start(Order, {
        subject: new Account(randomUUID()),
        args: { order: 1, note: 'as soon as possible' },
        idempotencyKey: randomUUID(),
      }),
    after: (side, _, run) => forget(side, [run]),
  },
  {
    name: 'start 100 runs (startMany)',
    run: (side) => startRuns(side, 100),
    after: (side, _, runs) => forget(side, runs),
  },
  {
    name: 'start again under a known key',
    before: async ({ workflows }) => {
      const key = randomUUID();
      return { key, run: await workflows.start(Order, { args: { order: 1 }, idempotencyKey: key }) };
    },
    run: ({ workflows }, { key }) => workflows.start(Order, { args: { order: 1 }, idempotencyKey: key }),
    after: (side, { run }) => forget(side, [run]),
  },
];

/**
 * @param {number} count
 * @param {any} [workflow]
 * @returns {Operation}
 */
const claimOf = (count, workflow) => ({
  name: `claim of ${count}${workflow ? ' of the class of which most wait' : ''}`,
  before: (side) => startRuns(side, count, workflow),
  async run(side) {
    const { plain } = await claim(side, count);
    if (plain.length !== count) throw new Error(`${plain.length} of ${count} due rows were claimed`);
  },
  after: forget,
});

export const CLAIM_NOTHING = { name: 'claim when nothing is due', run: (/** @type {Side} */ side) => claim(side, 64) };

/** @type {Operation[]} */
export const CLAIMS = [claimOf(1), claimOf(64), claimOf(1, Approval), CLAIM_NOTHING];

/**
 * @param {number} count
 * @param {'next' | 'last'} what
 * @returns {Operation}
 */
const settlementOf = (count, what) => ({
  name: `settlement of ${count}, ${what === 'next' ? 'going on in place' : 'the last step'}`,
  before: (side) => startAndClaim(side, count),
  run: (side, { plain }) => settle(side, plain, what),
  after: (side, { handles }) => forget(side, handles),
});

/** @type {Operation[]} */
export const SETTLEMENTS = [settlementOf(1, 'next'), settlementOf(64, 'next'), settlementOf(64, 'last')];

/** @param {Side} side */
async function parkedRun(side) {
  const [run] = await startRuns(side, 1, Approval);
  if (!run) throw new Error('No run was started');
  await park(side, run);
  return run;
}

/** @type {Operation[]} */
export const SIGNALS = [
  {
    name: 'park a run',
    before: async (side) => (await startRuns(side, 1, Approval))[0],
    run: park,
    after: (side, run) => forget(side, [run]),
  },
  {
    name: 'signal a run (handle)',
    before: parkedRun,
    run: (_, run) => run.signal('approved', { by: 'somebody' }, { idempotencyKey: randomUUID() }),
    after: (side, run) => forget(side, [run]),
  },
  {
    name: 'signal by subject',
    before: parkedRun,
    run: ({ workflows }, run) => workflows.signal(Approval, new Account(run.subject.id), 'approved', { by: 'somebody' }),
    after: (side, run) => forget(side, [run]),
  },
  {
    name: 'pause and resume',
    before: async (side) => (await startRuns(side, 1))[0],
    run: async (_, run) => {
      await run.pause();
      await run.resume();
    },
    after: (side, run) => forget(side, [run]),
  },
]; // prettier-ignore

/** Any ended run, by chance: on the full side it is seldom one whose pages are at hand. */
const anyEnded = async (/** @type {Side} */ { client, workflows }) => {
  const { rows } = await client.query(
    `select id from workflows where ended_at >= (select min(ended_at) + random() * (max(ended_at) - min(ended_at)) from workflows where ended_at is not null)
     order by ended_at limit 1`,
  );
  return workflows.find(rows[0].id);
};

/** @type {Operation[]} */
export const READS = [
  { name: 'find a run by id', before: anyEnded, run: ({ workflows }, run) => workflows.find(run.id) },
  {
    name: 'find the ongoing run of a subject',
    before: async (side) => (await startRuns(side, 1))[0],
    run: ({ workflows }, run) => workflows.findOngoing(Order, new Account(run.subject.id)),
    after: (side, run) => forget(side, [run]),
  },
  { name: 'steps of a run', before: anyEnded, run: (_, run) => run.steps() },
  { name: 'events of a run', before: anyEnded, run: (_, run) => run.events() },
  { name: 'signals of a run', before: anyEnded, run: (_, run) => run.signals() },
];
