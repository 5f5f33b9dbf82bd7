// @ts-check
// One server for all, with a new database for each peer's every turn.

import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../../scripts/postgres.mjs';

/**
 * @typedef {object} Server
 * @property {string} version
 * @property {<T>(use: (database: Database) => Promise<T>) => Promise<T>} withDatabase
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Database
 * @property {string} url
 * @property {() => Promise<Counters>} counters exact: it waits until nobody is connected any more
 *
 * @typedef {{ commits: number, walBytes: number }} Counters
 */

/** @returns {Promise<Server>} */
export async function openServer() {
  const server = await startPostgres({ settings: { max_wal_size: '4GB' } });
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  const { rows } = await admin.query('select current_setting($1) as version, current_setting($2) as fsync', [
    'server_version',
    'fsync',
  ]);
  if (rows[0].fsync !== 'on') throw new Error('This server has fsync off: its figures would mean nothing');
  let databases = 0;
  return {
    version: rows[0].version,
    async withDatabase(use) {
      const name = `workflows_peers_${process.pid}_${(databases += 1)}`;
      await admin.query(`create database ${name}`);
      await admin.query('checkpoint');
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      try {
        return await use({ url: url.href, counters: () => counters(admin, name) });
      } finally {
        await admin.query(`drop database if exists ${name} with (force)`);
      }
    },
    async close() {
      await admin.end();
      await server.stop();
    },
  };
}

/**
 * @param {Client} admin connected to another database, so that asking does not count
 * @param {string} name
 * @returns {Promise<Counters>}
 */
async function counters(admin, name) {
  const connected = "select from pg_stat_activity where datname = $1 and backend_type = 'client backend' limit 1";
  while ((await admin.query(connected, [name])).rowCount) await pause(10);
  const { rows } = await admin.query(
    `select xact_commit::float8 as commits, (pg_current_wal_lsn() - '0/0')::float8 as "walBytes"
     from pg_stat_database where datname = $1`,
    [name],
  );
  return rows[0];
}
