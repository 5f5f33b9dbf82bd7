// @ts-check
// A database of its own on a running server, with the tables of the package that is measured, and the server's counters.

import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';

/**
 * @typedef {object} BenchDatabase
 * @property {string} url
 * @property {Client} client a connection of the bench's own
 * @property {() => Promise<void>} clear empties the tables and writes out what the last measurement left to be written
 * @property {() => Promise<Counters>} counters exact once the connections that are measured have ended
 * @property {() => Promise<TableCounters>} tableCounters likewise
 * @property {() => Promise<void>} close
 *
 * @typedef {{ commits: number, walBytes: number }} Counters
 *
 * @typedef {Record<'workflows' | 'workflow_steps', { updates: number, hot: number, dead: number }>} TableCounters
 *   `updates` and `hot` (those that touched no index) count on; `dead` are the row versions that nobody has vacuumed yet
 */

/**
 * Makes the database, if there is none of that name, and migrates it.
 *
 * @param {string} serverUrl
 * @param {string} name letters, digits and underscores
 * @returns {Promise<BenchDatabase & { drop(): Promise<void> }>}
 */
export async function attachDatabase(serverUrl, name) {
  const admin = new Client({ connectionString: serverUrl });
  await admin.connect();
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) await admin.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrate(url.href);
  const client = new Client({ connectionString: url.href });
  await client.connect();
  const close = async () => {
    await client.end();
    await admin.end();
  };
  return {
    url: url.href,
    client,
    async clear() {
      await client.query('truncate workflows, workflow_steps, workflow_events, workflow_signals');
      await client.query('checkpoint');
    },
    async counters() {
      // Asked through the other database, so that asking does not count.
      const { rows } = await admin.query(
        `select xact_commit::float8 as commits, (pg_current_wal_lsn() - '0/0')::float8 as "walBytes"
         from pg_stat_database where datname = $1`,
        [name],
      );
      return rows[0];
    },
    async tableCounters() {
      const { rows } = await client.query(
        `select relname, n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot, n_dead_tup::float8 as dead
         from pg_stat_user_tables where relname in ('workflows', 'workflow_steps')`,
      );
      return Object.fromEntries(rows.map(({ relname, ...counters }) => [relname, counters]));
    },
    close,
    async drop() {
      await client.end();
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}

/** @param {string} url */
async function migrate(url) {
  const dataSource = new DataSource({ type: 'postgres', url, migrations: [...WorkflowMigrations] });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}
