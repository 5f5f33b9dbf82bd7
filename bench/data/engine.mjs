// @ts-check
// The engine's own statements, as the worker sends them, and runs brought to where one of them is next.

import { randomUUID } from 'node:crypto';
import { inPackage } from './sides.mjs';
import { Account, Order } from './workflows.mjs';

/**
 * @typedef {import('./sides.mjs').Side} Side
 * @typedef {import('../../libs/workflow/src/store/claim.js').ClaimedRow} ClaimedRow
 * @typedef {import('../../libs/workflow/src/service/workflow.handle.js').WorkflowHandle} Handle
 */

/** @type {typeof import('../../libs/workflow/src/store/claim.js')} */
const claims = inPackage('store/claim.js');
/** @type {typeof import('../../libs/workflow/src/store/step-key.js')} */
const { stepKeys } = inPackage('store/step-key.js');
/** @type {typeof import('../../libs/workflow/src/store/settle.js')} */
const settlement = inPackage('store/settle.js');
/** @type {typeof import('../../libs/workflow/src/store/run.js')} */
const runs = inPackage('store/run.js');
/** @type {typeof import('../../libs/workflow/src/store/wait.js')} */
const waits = inPackage('store/wait.js');

/**
 * One claim in the lane of most rows, as a worker with all classes makes it.
 *
 * @param {Side} side
 * @param {number} count
 */
export function claim({ connection, parts }, count) {
  const { registry, worker } = parts;
  const filter = {
    lanes: [{ queue: 'default', priority: 0 }],
    handlers: registry.handlerNames(),
    // Parking is left out: the first step of a run that waits is claimed like any other.
    plainSteps: stepKeys(registry.all(), () => true),
    gatedSteps: [],
    inHand: [],
  };
  return claims.claim(connection, filter, worker, count);
}

/**
 * Settles what was claimed: as completed, with the next step in place, or as the run's last.
 *
 * @param {Side} side
 * @param {readonly ClaimedRow[]} rows
 * @param {'next' | 'last'} what
 */
export async function settle({ connection, parts }, rows, what) {
  const settled = await settlement.settle(
    connection,
    rows.map((row) => ({
      id: row.id,
      workflowId: row.workflow_id,
      claimNo: row.claim_no,
      output: '{"reference":"4711","amount":1234.5}',
      next:
        what === 'last'
          ? null
          : { step: 'check', handler: row.handler, queue: row.queue, priority: row.priority, wait: 0, holdBack: 0, notBefore: null },
      inPlace: true,
      hasSignal: false,
    })),
    parts.worker,
  ); // prettier-ignore
  if (settled.length !== rows.length) throw new Error(`${settled.length} of ${rows.length} rows were settled`);
}

/**
 * Due runs of a class, each with a subject of its own.
 *
 * @param {Side} side
 * @param {number} count
 * @param {any} [workflow]
 * @returns {Promise<Handle[]>}
 */
export function startRuns({ workflows }, count, workflow = Order) {
  return workflows.startMany(
    workflow,
    Array.from({ length: count }, (_, order) => ({ subject: new Account(randomUUID()), args: { order } })),
  );
}

/**
 * @param {Side} side
 * @param {number} count
 * @param {any} [workflow]
 */
export async function startAndClaim(side, count, workflow) {
  const handles = await startRuns(side, count, workflow);
  const { plain } = await claim(side, count);
  if (plain.length !== count) throw new Error(`${plain.length} of ${count} due rows were claimed`);
  return { handles, plain };
}

/**
 * Parks the run's first step on its signal, as its gate does.
 *
 * @param {Side} side
 * @param {Handle} run
 */
export function park({ parts }, run) {
  return parts.database.transaction(async ({ connection }) => {
    const locked = await runs.lockRun(connection, run.id);
    const row = locked && (await runs.currentRow(connection, locked));
    if (!row) throw new Error(`Run ${run.id} has no row to park`);
    await waits.park(connection, { id: row.id, workflowId: run.id }, 'approved', { after: 86_400_000 });
  });
}

/**
 * Takes runs out of the tables again, with all that belongs to them.
 *
 * @param {Side} side
 * @param {readonly { id: string }[]} gone
 */
export async function forget({ client }, gone) {
  const ids = gone.map(({ id }) => id);
  await client.query('delete from workflow_events where workflow_id = any($1)', [ids]);
  await client.query('delete from workflows where id = any($1)', [ids]);
}
