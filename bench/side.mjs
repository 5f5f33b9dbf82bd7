// @ts-check
// One side of a comparison, as a process: measures what it is told, with the package that stands beside it. Started by
// sides.mjs with an IPC channel: node side.mjs <server's URL> <database's name>

import { LINES } from './lines.mjs';
import { ALL_MODES } from './app.mjs';
import { attachDatabase } from './attach.mjs';
import { measureThroughput } from './measurements.mjs';

/**
 * @typedef {{ line: string } | 'end'} Order
 * @typedef {{ ready: true } | { figures: import('./measurements.mjs').Figures } | { error: string }} Answer
 */

const [serverUrl, databaseName] = process.argv.slice(2);
/** @param {Answer} answer */
const tell = (answer) => process.send?.(answer);
// Whoever asked is gone: nobody wants to know.
process.once('disconnect', () => process.exit(0));

try {
  const database = await attachDatabase(serverUrl, databaseName);
  await measureThroughput(database, ALL_MODES, 200); // Nobody measures a cold process.
  process.on('message', (/** @type {Order} */ order) => {
    if (order === 'end') void database.close().then(() => process.disconnect());
    else void measure(database, order.line).then(tell);
  });
  tell({ ready: true });
} catch (error) {
  tell({ error: messageOf(error) });
}

/**
 * @param {import('./attach.mjs').BenchDatabase} database
 * @param {string} name
 * @returns {Promise<Answer>}
 */
async function measure(database, name) {
  try {
    const line = LINES.find((one) => one.name === name);
    if (!line) throw new Error(`There is no line ${name}`);
    return { figures: await line.measure(database) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
