// @ts-check
// A server like one in production (it waits for its disk), and a database on it.

import { startPostgres } from '../scripts/postgres.mjs';
import { attachDatabase } from './attach.mjs';

/**
 * @typedef {import('./attach.mjs').BenchDatabase} BenchDatabase
 * @typedef {import('./attach.mjs').Counters} Counters
 */

export const startServer = () => startPostgres({ settings: { max_wal_size: '4GB' } });

/** @returns {Promise<BenchDatabase>} `close` ends the server too */
export async function openDatabase() {
  const server = await startServer();
  const database = await attachDatabase(server.url, `workflows_bench_${process.pid}`);
  return {
    ...database,
    async close() {
      await database.drop();
      await server.stop();
    },
  };
}
