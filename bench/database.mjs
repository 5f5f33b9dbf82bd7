// @ts-check
// A server like one in production (it waits for its disk), the package's own tables on it, and its counters.

import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { startPostgres } from '../scripts/postgres.mjs';

/**
 * @typedef {object} BenchDatabase
 * @property {string} url
 * @property {Client} client a connection of the bench's own
 * @property {() => Promise<void>} clear empties the tables and writes out what the last measurement left to be written
 * @property {() => Promise<Counters>} counters exact once the connections that are measured have ended
 * @property {() => Promise<void>} close
 *
 * @typedef {{ commits: number, walBytes: number }} Counters
 */

/** @returns {Promise<BenchDatabase>} */
export async function openDatabase() {
  const server = await startPostgres({ settings: { max_wal_size: '4GB' } });
  const name = `workflows_bench_${process.pid}`;
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await migrate(url.href);
  const client = new Client({ connectionString: url.href });
  await client.connect();
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
    async close() {
      await client.end();
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.end();
      await server.stop();
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
