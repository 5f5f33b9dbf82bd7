// @ts-check
// A server with several databases in it, and what it tells: commits, WAL, deadlocks, statements, processor time.

import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { startPostgres } from '../../scripts/postgres.mjs';
import { backendSeconds, serverSeconds } from './processor.mjs';

/**
 * @typedef {object} WorkersDatabase
 * @property {string} url
 * @property {Client} client a connection of the bench's own
 * @property {() => Promise<void>} clear empties the tables and writes out what the last measurement left to be written
 *
 * @typedef {object} ServerCounters
 * @property {number} commits of the database that was asked for
 * @property {number} deadlocks
 * @property {number} walBytes of the whole server
 * @property {number | null} cpuSeconds of the whole server; null: it is not on this machine
 *
 * @typedef {Awaited<ReturnType<typeof openServer>>} WorkersServer
 */

/** Room for fifty workers, and a view of the statements that reach it. */
const SETTINGS = { max_connections: '600', max_wal_size: '4GB', shared_preload_libraries: 'pg_stat_statements' };

/**
 * Starts it, or takes the one that `DATABASE_URL` names.
 *
 * @param {number} count how many databases
 */
export async function openServer(count) {
  const server = await startPostgres({ settings: SETTINGS });
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  const names = Array.from({ length: count }, (_, index) => `workflows_bench_${process.pid}_${index + 1}`);
  /** @type {WorkersDatabase[]} */
  const databases = [];
  for (const name of names) databases.push(await createDatabase(admin, server.url, name));
  const seesStatements = await admin.query('create extension if not exists pg_stat_statements').then(
    () => true,
    () => false,
  );
  const nameOf = (/** @type {WorkersDatabase} */ database) => names[databases.indexOf(database)];
  return {
    databases,
    admin,
    /** Whether it counts statements. */
    seesStatements,

    /**
     * Exact once the connections that are measured have ended. Asked through another database, so that asking does not count.
     *
     * @param {WorkersDatabase} database
     * @returns {Promise<ServerCounters>}
     */
    async counters(database) {
      const { rows } = await admin.query(
        `select xact_commit::float8 as commits, deadlocks::float8 as deadlocks, (pg_current_wal_lsn() - '0/0')::float8 as "walBytes"
         from pg_stat_database where datname = $1`,
        [nameOf(database)],
      );
      return { ...rows[0], cpuSeconds: await serverSeconds(admin) };
    },

    /**
     * What each connection of the database has cost the server so far, by its process.
     *
     * @param {WorkersDatabase} database
     * @returns {Promise<Map<number, { application: string, cpuSeconds: number }>>}
     */
    async connections(database) {
      const { rows } = await admin.query(
        'select pid, application_name as application from pg_stat_activity where datname = $1 and pid <> $2',
        [nameOf(database), await pidOf(database.client)],
      );
      return new Map(rows.map(({ pid, application }) => [pid, { application, cpuSeconds: backendSeconds(pid) ?? 0 }]));
    },

    /**
     * Statements since `forgetStatements`.
     *
     * @param {WorkersDatabase} database
     * @returns {Promise<{ text: string, calls: number, milliseconds: number }[]>}
     */
    async statements(database) {
      const { rows } = await admin.query(
        `select query as text, calls::float8 as calls, (total_exec_time + total_plan_time)::float8 as milliseconds
         from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = $1`,
        [nameOf(database)],
      );
      return rows;
    },

    async forgetStatements() {
      await admin.query('select pg_stat_statements_reset()');
    },

    async close() {
      for (const { client } of databases) await client.end();
      for (const name of names) await admin.query(`drop database if exists ${name} with (force)`);
      await admin.end();
      await server.stop();
    },
  };
}

/**
 * @param {Client} admin
 * @param {string} serverUrl
 * @param {string} name
 * @returns {Promise<WorkersDatabase>}
 */
async function createDatabase(admin, serverUrl, name) {
  await admin.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const dataSource = new DataSource({ type: 'postgres', url: url.href, migrations: [...WorkflowMigrations] });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
  const client = new Client({ connectionString: url.href });
  await client.connect();
  return {
    url: url.href,
    client,
    async clear() {
      await client.query('truncate workflows, workflow_steps, workflow_events, workflow_signals');
      await client.query('checkpoint');
    },
  };
}

/** @param {Client} client */
async function pidOf(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return Number(rows[0].pid);
}
