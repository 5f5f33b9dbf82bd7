// @ts-check
// What runs in the background of every worker, whether there is work or not: looks, renewal, the judge, the sweep, retention.

import { randomUUID } from 'node:crypto';
import { OLD_AFTER_DAYS, fillBatch, fillOld } from './fill.mjs';
import { forget, startAndClaim } from './engine.mjs';
import { inPackage } from './sides.mjs';

/**
 * @typedef {import('./sides.mjs').Side} Side
 * @typedef {import('./measure.mjs').Operation<any>} Operation
 */

/** @type {typeof import('../../libs/workflow/src/store/claim.js')} */
const claims = inPackage('store/claim.js');
/** @type {typeof import('../../libs/workflow/src/store/leases.js')} */
const leases = inPackage('store/leases.js');
/** @type {typeof import('../../libs/workflow/src/store/batches.js')} */
const batches = inPackage('store/batches.js');
/** @type {typeof import('../../libs/workflow/src/store/retention.js')} */
const retention = inPackage('store/retention.js');
/** @type {typeof import('../../libs/workflow/src/store/step-key.js')} */
const { stepKeys } = inPackage('store/step-key.js');
/** @type {typeof import('../../libs/workflow/src/store/sweep.js')} */
const sweep = inPackage('store/sweep.js');
/** @type {typeof import('../../libs/workflow/src/store/run.js')} */
const { FIRST_RUN } = inPackage('store/run.js');
/** @type {typeof import('../../libs/workflow/src/store/wait.js')} */
const waits = inPackage('store/wait.js');
/** @type {typeof import('../../libs/workflow/src/store/gravestones.js')} */
const gravestones = inPackage('store/gravestones.js');
/** @type {typeof import('../../libs/workflow/src/worker/sweeper.js')} */
const { Sweeper } = inPackage('worker/sweeper.js');

const DAY = 86_400_000;

/** @param {Side} side */
const classes = ({ parts }) => parts.registry.all().map(({ definition }) => definition.name);

/** What the poll and the watch of every worker ask each second, or each few. @type {Operation[]} */
export const POLLS = [
  { name: 'look for lanes', run: ({ connection }) => claims.lanesInUse(connection) },
  {
    name: 'look for passed deadlines',
    run: (side) => waits.passedDeadlines(side.connection, classes(side), []),
  },
  { name: 'look for the next deadline', run: (side) => waits.nextDeadlineIn(side.connection, classes(side), []) },
  { name: 'look for batches due to be joined', run: (side) => batches.dueJoins(side.connection, classes(side), []) },
  {
    name: 'look for batches that nobody joined',
    run: (side) => batches.unjoinedBatches(side.connection, classes(side), FIRST_RUN, 8_000),
  },
];

/** @type {Operation[]} */
export const JOINS = [
  {
    name: 'probe for an open member, of 1,000',
    before: batchOf(1_000),
    run: ({ connection }, { id }) => batches.hasOpenMember(connection, id),
    after: (side, batch) => forget(side, [{ id: batch.workflowId }]),
  },
  {
    name: 'count of 1,000 members (the join)',
    before: batchOf(1_000),
    run: ({ connection }, batch) => batches.countMembers(connection, { ...batch, step: 'send' }),
    after: (side, batch) => forget(side, [{ id: batch.workflowId }]),
  },
];

/** @param {number} count */
function batchOf(count) {
  return (/** @type {Side} */ { client }) => fillBatch(client, count);
}

/** @type {Operation[]} */
export const LEASES = [
  {
    name: 'renewal of 64 leases',
    before: (side) => startAndClaim(side, 64),
    run: ({ client, parts }) => named(client, 'renew', leases.leaseTexts(parts.database.tables).renew, [parts.worker.id, 8_000]),
    after: (side, { handles }) => forget(side, handles),
  },
  {
    name: 'look for lapsed leases, beside 64 in progress',
    before: (side) => startAndClaim(side, 64),
    run: (side) =>
      named(side.client, 'look', leases.leaseTexts(side.parts.database.tables).look, [randomUUID(), classes(side), '0']),
    after: (side, { handles }) => forget(side, handles),
  },
]; // prettier-ignore

/**
 * @param {import('pg').Client} client
 * @param {string} name
 * @param {string} text
 * @param {unknown[]} values
 */
const named = (client, name, text, values) => client.query({ name, text, values });

/** @type {Operation[]} */
export const SWEEPS = [
  { name: 'look for hung steps', run: (side) => sweep.hungRows(side.connection, classes(side), [], 3_600_000, '0') },
  {
    name: 'look for waits without a step',
    run: (side) => sweep.strandedWaits(side.connection, classes(side), declaredOf(side), null),
  },
  {
    name: 'look for batches that ended',
    run: (side) => sweep.waitingBatches(side.connection, classes(side), 3_600_000, null),
  },
  { name: 'look for the oldest due rows', run: ({ connection }) => sweep.laneAges(connection) },
  {
    name: 'a page of 50 runs past their retention',
    before: ({ client }) => fillOld(client, 50),
    run: (side) => retention.endedRuns(side.connection, classes(side), OLD_AFTER_DAYS * DAY, null),
    after: (side, _, page) => deleteAll(side, page),
  },
  {
    name: 'deletion of 50 runs',
    before: async (side) => {
      await fillOld(side.client, 50);
      return retention.endedRuns(side.connection, classes(side), OLD_AFTER_DAYS * DAY, null);
    },
    run: deleteAll,
  },
  { name: 'a whole sweep', before: sweeperOf, run: (_, sweeper) => sweeper.sweep() },
];

/** Counts over all that is open: they grow with it, and are asked for seldom. @type {Operation[]} */
export const COUNTS = [
  {
    name: 'no limit: inconsistent runs (health, once a minute)',
    run: ({ connection }) => sweep.forbiddenPairs(connection),
    counts: true,
  },
  {
    name: 'no limit: ongoing runs on gravestones (by hand)',
    run: ({ connection }) => gravestones.ongoingOnSteps(connection, 'Order', ['gone']),
    counts: true,
  },
];

/**
 * @param {Side} side
 * @param {readonly { id: string }[]} page
 */
async function deleteAll({ connection }, page) {
  if (page.length !== 50) throw new Error(`${page.length} of 50 runs are past their retention`);
  await retention.deleteRuns(
    connection,
    page.map(({ id }) => id),
  );
}

/** @param {Side} side */
function declaredOf({ parts }) {
  const loaded = parts.registry.all();
  return { waiting: stepKeys(loaded, ({ waitFor }) => waitFor !== null), declared: stepKeys(loaded, () => true) };
}

/**
 * A sweeper that has never swept, so that it asks for ended runs too. Nothing hangs or is overdue here, so what it would tell goes nowhere.
 *
 * @param {Side} side
 */
async function sweeperOf({ parts }) {
  const nobody = /** @type {any} */ ({ declareAll: async () => {}, report: async () => {}, announce: () => {} });
  return new Sweeper(parts, nobody, nobody, nobody, nobody);
}
