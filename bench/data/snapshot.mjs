// @ts-check
// What a transaction that somebody leaves open costs: it keeps every dead row alive, and with it the entries at the lane's head.

import { claim, settle, startRuns } from './engine.mjs';
import { fillBatch, settleDown } from './fill.mjs';
import { JOINS, LEASES, POLLS, SWEEPS } from './looks.mjs';
import { measureAll } from './measure.mjs';
import { CLAIMS, SETTLEMENTS } from './operations.mjs';
import { inPackage } from './sides.mjs';

/**
 * @typedef {import('./sides.mjs').Side} Side
 * @typedef {import('./measure.mjs').Measured} Measured
 * @typedef {import('./measure.mjs').Operation<any>} Operation
 */

/** @type {typeof import('../../libs/workflow/src/store/batches.js')} */
const { hasOpenMember } = inPackage('store/batches.js');

const AT_ONCE = 512;

/**
 * Both sides process the same rows, one of them under a snapshot; each is vacuumed after it, as far as that is possible.
 *
 * @param {Side} quiet
 * @param {Side} under
 * @param {{ rows: readonly number[], samples: number, say: (line: string) => void }} options
 * @returns {Promise<{ title: string, measured: Measured[] }[]>}
 */
export async function measureUnderSnapshot(quiet, under, { rows, samples, say }) {
  const sides = [quiet, under];
  const results = [];
  const holder = await under.connect();
  await holder.query('begin isolation level repeatable read');
  await holder.query('select from workflows limit 1');
  let processed = 0;
  for (const count of rows) {
    for (const side of sides) {
      await workOff(side, count - processed);
      await settleDown(side.client);
    }
    processed = count;
    say(`${count.toLocaleString('en')} rows processed under a snapshot`);
    const measured = await measureAll(sides, operationsOf(count), { samples, limit: null, say });
    results.push({ title: `under a snapshot, ${count.toLocaleString('en')} rows later`, measured });
  }
  await holder.query('commit');
  return results;
}

/** @param {number} count */
function operationsOf(count) {
  return [
    ...CLAIMS.slice(0, 2),
    ...CLAIMS.slice(3),
    ...SETTLEMENTS.slice(0, 2),
    probeOf(count),
    ...JOINS.slice(1),
    ...LEASES,
    ...POLLS,
    ...SWEEPS.slice(0, 4),
    ...SWEEPS.slice(-1),
  ];
}

/**
 * @param {Side} side
 * @param {number} count
 */
async function workOff(side, count) {
  await side.connection.command('set synchronous_commit = off');
  for (let done = 0; done < count; done += AT_ONCE) {
    await startRuns(side, Math.min(AT_ONCE, count - done));
    for (;;) {
      const { plain } = await claim(side, 64);
      if (!plain.length) break;
      await settle(side, plain, 'last');
    }
  }
  await side.connection.command('reset synchronous_commit');
}

/**
 * The probe whether a batch is over, when all but its last ten members have been worked off since.
 *
 * @param {number} members
 * @returns {Operation}
 */
function probeOf(members) {
  /** @type {Map<Side, { id: string, workflowId: string }>} */
  const batches = new Map();
  return {
    name: `probe for an open member, of ${members.toLocaleString('en')}`,
    async before(side) {
      const batch = batches.get(side) ?? (await workedOff(side, members));
      batches.set(side, batch);
      return batch;
    },
    run: ({ connection }, { id }) => hasOpenMember(connection, id),
  };
}

/**
 * @param {Side} side
 * @param {number} members
 */
async function workedOff({ client }, members) {
  const batch = await fillBatch(client, members, members);
  const most = [batch.id, members - 10];
  await client.query(
    `update workflow_steps set status = 'in_progress', started_at = now(), worker_id = workflow_id where parent_step_id = $1 and member_index < $2`,
    most,
  );
  await client.query(
    `update workflow_steps set status = 'completed', finished_at = now() where parent_step_id = $1 and member_index < $2`,
    most,
  );
  await client.query('vacuum workflow_steps');
  return batch;
}
