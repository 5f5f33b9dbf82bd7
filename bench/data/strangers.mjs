// @ts-check
// Rows that nobody here can run: another application's, which shares tables and lane with ours, or those of a class that is no longer deployed.

import { fillStrangers } from './fill.mjs';
import { POLLS, SWEEPS } from './looks.mjs';
import { measureAll } from './measure.mjs';
import { CLAIMS } from './operations.mjs';

/**
 * @typedef {import('./sides.mjs').Server} Server
 * @typedef {import('./measure.mjs').Measured} Measured
 */

/**
 * @param {Server} server
 * @param {{ strangers: number, samples: number, say: (line: string) => void }} options
 * @returns {Promise<{ title: string, measured: Measured[] }[]>}
 */
export async function measureStrangers(server, { strangers, samples, say }) {
  const alone = await server.open('alone');
  const results = [];
  for (const [title, due, operations] of /** @type {const} */ ([
    ['overdue, before ours', '-9 days', CLAIMS],
    ['due later', '1 day', CLAIMS],
    ['parked, with deadlines', 'parked', [...POLLS, ...SWEEPS.slice(1, 3)]],
  ])) {
    const beside = await server.open(`beside ${due}`);
    await fillStrangers(beside.client, strangers, due, say);
    const measured = await measureAll([alone, beside], operations, { samples, limit: null, say });
    results.push({ title: `beside ${strangers.toLocaleString('en')} strangers, ${title}`, measured });
  }
  return results;
}
