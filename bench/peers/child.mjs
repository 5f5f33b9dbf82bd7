// @ts-check
// One peer doing one thing, in a process of its own: started by process.mjs, which sends what to do.

import { Client } from 'pg';
import { entryOf } from './peers.mjs';
import { Tally } from './tally.mjs';
import { tasks } from './workloads/workload.mjs';

/**
 * @typedef {object} Order
 * @property {string} peer
 * @property {import('./workloads/workload.mjs').TaskName} task
 * @property {string} url
 * @property {any} size as the task wants it
 */

process.once('message', (/** @type {Order} */ order) => {
  void perform(order).then(
    (answer) => end({ answer }, 0),
    (error) => end({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, 1),
  );
});

/** @param {Order} order */
async function perform({ peer: name, task, url, size }) {
  const { peer } = await entryOf(name).load();
  const client = new Client({ connectionString: url });
  await client.connect();
  const answer = await tasks[task]({ peer, url, client, tally: new Tally() }, size);
  await client.end();
  return answer;
}

/**
 * @param {object} message
 * @param {number} code
 */
function end(message, code) {
  process.send?.(message, () => process.exit(code));
}
