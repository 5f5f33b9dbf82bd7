// @ts-check
// A worker as a process of its own, over the built package: started by remote-worker.ts.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createRequire } from 'node:module';
import path from 'node:path';
import { WorkflowModule } from 'nestjs-pg-workflows';
import { REMOTE } from './remote-workflows.mjs';

/**
 * @typedef {object} RemoteConfig
 * @property {string} url
 * @property {number} poolSize
 * @property {import('nestjs-pg-workflows').WorkflowModuleOptions} settings
 */

/** @type {RemoteConfig} */
const { url, poolSize, settings } = JSON.parse(process.env.REMOTE_WORKER ?? '{}');

class Application {}
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, poolSize, autoLoadEntities: true, retryAttempts: 0 }),
    WorkflowModule.forRoot(settings),
  ],
  providers: REMOTE,
})(Application);
const app = await NestFactory.createApplicationContext(Application, { logger: ['error', 'warn', 'log'] });
app.enableShutdownHooks();
// Once: the signal that Nest sends itself when all has stopped must end the process.
process.once('SIGTERM', () => process.send?.({ kind: 'stopping' }));

const require = createRequire(import.meta.url);
const { WorkflowRuntime } = require(
  path.join(path.dirname(require.resolve('nestjs-pg-workflows')), 'workflow.runtime.js'),
);

// Whoever started it is gone.
process.on('disconnect', () => process.exit(1));
process.on('message', (request) => void answer(request));
process.send?.({ kind: 'ready', now: Date.now() });

/** @param {unknown} request */
async function answer(request) {
  if (request === 'sweep') {
    await app.get(WorkflowRuntime).sweep();
    process.send?.({ kind: 'swept' });
  }
  if (request === 'close') {
    await app.close();
    // Nothing else may keep it alive: that it ends now by itself is what is tried.
    process.removeAllListeners('disconnect');
    process.disconnect();
  }
}
