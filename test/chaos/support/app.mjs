// @ts-check
// The built package as an application has it.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowModule, WorkflowService } from 'nestjs-pg-workflows';

/**
 * @typedef {object} AppOptions
 * @property {import('@nestjs/common').Provider[]} providers the workflows and jobs
 * @property {number} poolSize
 * @property {import('nestjs-pg-workflows').WorkflowModuleOptions} settings
 * @property {boolean} [quiet] without a log
 */

/**
 * @param {string} url
 * @param {AppOptions} options
 */
export async function openApp(url, { providers, poolSize, settings, quiet = false }) {
  class Application {}
  Module({
    imports: [
      // As many tries as a database takes that is just recovering.
      TypeOrmModule.forRoot({
        type: 'postgres',
        url,
        autoLoadEntities: true,
        poolSize,
        retryAttempts: 50,
        retryDelay: 200,
      }),
      WorkflowModule.forRoot(settings),
    ],
    providers,
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, {
    logger: quiet ? false : ['error', 'warn'],
    abortOnError: false,
  });
  return { workflows: app.get(WorkflowService), close: () => app.close() };
}
