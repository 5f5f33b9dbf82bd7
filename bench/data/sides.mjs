// @ts-check
// Two databases on one server, each with an application on it: what is compared is done on one and on the other in turn.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { WorkflowModule, WorkflowService } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { startPostgres } from '../../scripts/postgres.mjs';
import { PROVIDERS } from './workflows.mjs';

/**
 * @typedef {import('../../libs/workflow/src/engine/engine.parts.js').EngineParts} EngineParts
 * @typedef {import('../../libs/workflow/src/store/connection.js').Connection} Connection
 *
 * @typedef {object} Side
 * @property {string} name
 * @property {Client} client a connection of the bench's own
 * @property {WorkflowService} workflows
 * @property {EngineParts} parts
 * @property {Connection} connection one of the application's pool, for the engine's single statements
 * @property {() => Promise<Client>} connect one more connection of the bench's own
 *
 * @typedef {{ open: (name: string) => Promise<Side>, version: string, close: () => Promise<void> }} Server
 */

/** What a server of this size has in production; the rest is left as it comes, `fsync` on. */
const SETTINGS = { max_wal_size: '8GB', shared_buffers: '1GB', maintenance_work_mem: '256MB' };

/**
 * @param {import('@nestjs/common').Provider[]} [providers] the application's classes
 * @returns {Promise<Server>}
 */
export async function openServer(providers = PROVIDERS) {
  const server = await startPostgres({ settings: SETTINGS });
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  const { server_version: version } = (await admin.query('show server_version')).rows[0];
  /** @type {(() => Promise<void>)[]} */
  const closing = [];
  return {
    version,
    async open(name) {
      const database = `workflows_data_${name.replaceAll(/\W/g, '_')}_${process.pid}`;
      await admin.query(`create database ${database}`);
      closing.push(async () => void (await admin.query(`drop database ${database} with (force)`)));
      const url = new URL(server.url);
      url.pathname = `/${database}`;
      return openSide(name, url.href, providers, closing);
    },
    async close() {
      for (const close of closing.toReversed()) await close();
      await admin.end();
      await server.stop();
    },
  };
}

/**
 * @param {string} name
 * @param {string} url
 * @param {import('@nestjs/common').Provider[]} providers
 * @param {(() => Promise<void>)[]} closing
 * @returns {Promise<Side>}
 */
async function openSide(name, url, providers, closing) {
  const dataSource = new DataSource({ type: 'postgres', url, migrations: [...WorkflowMigrations] });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();

  class Application {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ name, type: 'postgres', url, autoLoadEntities: true, retryAttempts: 0 }),
      WorkflowModule.forRoot({ connection: name, worker: false }),
    ],
    providers,
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: ['error', 'warn'] });
  closing.push(() => app.close());
  /** @type {EngineParts} */
  const parts = app.get(inPackage('engine/engine.parts.js').ENGINE_PARTS, { strict: false });
  const queryRunner = parts.database.dataSource.createQueryRunner('master');
  const connection = await parts.database.connectionOf(queryRunner);
  closing.push(() => queryRunner.release());

  const connect = async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    closing.push(() => client.end());
    return client;
  };
  return { name, client: await connect(), workflows: app.get(WorkflowService), parts, connection, connect };
}

/**
 * A file of the built package that is no part of its interface.
 *
 * @param {string} file
 */
export function inPackage(file) {
  const require = createRequire(import.meta.url);
  return require(path.join(path.dirname(require.resolve('nestjs-pg-workflows')), file));
}
