// @ts-check
// A PostgreSQL with the package's tables in a database of its own.

import { Pool, escapeIdentifier } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { startPostgres } from '../../../scripts/postgres.mjs';

/**
 * @typedef {object} ChaosDatabase
 * @property {string} url
 * @property {<Row = any>(sql: string, values?: unknown[]) => Promise<Row[]>} query rows, on a connection of the command's own
 * @property {import('../../../scripts/postgres.mjs').PostgresServer['restart']} restart
 * @property {() => Promise<void>} close
 */

/**
 * @param {import('../../../scripts/postgres.mjs').StartOptions} options
 * @returns {Promise<ChaosDatabase>}
 */
export async function openDatabase(options) {
  const server = await startPostgres({ quiet: true, ...options });
  const name = `workflows_chaos_${process.pid}`;
  /** @type {Pool | undefined} */
  let pool;
  const admin = poolOn(server.url);
  const close = async () => {
    await pool?.end();
    await admin.query(`drop database if exists ${escapeIdentifier(name)} with (force)`);
    await admin.end();
    await server.stop();
  };
  try {
    await admin.query(`create database ${escapeIdentifier(name)}`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    await migrate(url.href);
    const own = poolOn(url.href);
    pool = own;
    return {
      url: url.href,
      query: async (sql, values) => (await own.query(sql, values)).rows,
      restart: server.restart,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @param {string} url */
function poolOn(url) {
  const pool = new Pool({ connectionString: url, max: 3 });
  pool.on('error', () => {}); // An idle connection ended with its server; the next query gets another.
  return pool;
}

/** @param {string} url */
async function migrate(url) {
  const dataSource = new DataSource({ type: 'postgres', url, migrations: [...WorkflowMigrations] });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}
