// @ts-check
import { randomBytes } from 'node:crypto';
import { escapeIdentifier, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { Ledger } from './ledger.mjs';

/**
 * Databases for lanes: copies of one on which the package's migrations ran, each with a ledger beside it.
 *
 * @param {string} server
 */
export async function newDatabases(server) {
  const prefix = `workflows_kill_${randomBytes(4).toString('hex')}`;
  const template = `${prefix}_template`;
  const urlOf = (/** @type {string} */ name) => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    return url.href;
  };
  const admin = new Pool({ connectionString: server, max: 1 });
  const drop = (/** @type {string} */ name) =>
    admin.query(`drop database if exists ${escapeIdentifier(name)} with (force)`);
  await admin.query(`create database ${escapeIdentifier(template)}`);
  const dataSource = new DataSource({ type: 'postgres', url: urlOf(template), migrations: [...WorkflowMigrations] });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
  let count = 0;
  return {
    /** @returns {Promise<import('./lane.mjs').Place>} */
    async newPlace() {
      const name = `${prefix}_${(count += 1)}`;
      await admin.query(`create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)}`);
      const database = { url: urlOf(name), drop: async () => void (await drop(name)) };
      return { database, ledger: await Ledger.create(server, `${name}_ledger`) };
    },
    async drop() {
      await drop(template);
      await admin.end();
    },
  };
}
