/** A fresh database a suite: a copy of a template on which the package's migrations ran once. */

import { randomBytes } from 'node:crypto';
import { type Client, escapeIdentifier } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from '../../migrations';
import { dropDatabase, urlOf, withClient } from './database-names';

export interface TestDatabase {
  url: string;
  name: string;
  /** Ends whatever is still connected. */
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env.WORKFLOWS_TEST_DATABASE_URL;
  const template = process.env.WORKFLOWS_TEST_TEMPLATE;
  if (!server || !template) {
    throw new Error(
      'No test database: createTestDatabase() works in the jest project `pg` (test/**/*.test.ts), whose global setup starts PostgreSQL',
    );
  }
  const name = `workflows_test_${randomBytes(8).toString('hex')}`;
  await withClient(server, async (client) => {
    await ensureTemplate(client, server, template);
    await client.query(`create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)}`);
  });
  return { url: urlOf(server, name), name, drop: () => dropDatabase(server, name) };
}

/**
 * Whoever comes first makes the template; the others wait. It is not made by Jest's global setup, because modules
 * loaded there are resolved by Node, which does not find a migration's `x.ts` behind an import of `x.js`.
 */
async function ensureTemplate(client: Client, server: string, template: string): Promise<void> {
  await client.query('select pg_advisory_lock(hashtext($1))', [template]);
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template]);
    if (rowCount === 0) await createTemplate(client, server, template);
  } finally {
    await client.query('select pg_advisory_unlock(hashtext($1))', [template]);
  }
}

async function createTemplate(client: Client, server: string, template: string): Promise<void> {
  await client.query(`create database ${escapeIdentifier(template)} template template0`);
  const dataSource = new DataSource({
    type: 'postgres',
    url: urlOf(server, template),
    migrations: [...WorkflowMigrations],
  });
  try {
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
  } catch (error) {
    if (dataSource.isInitialized) await dataSource.destroy();
    await dropDatabase(server, template);
    throw error;
  }
}
