// @ts-check
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { WorkflowModule, WorkflowService } from 'nestjs-pg-workflows';
import { providers } from './workflows.mjs';

/**
 * A small application on a database, put together as users do it.
 *
 * @param {string} url
 * @param {import('nestjs-pg-workflows').WorkflowModuleOptions} options
 * @param {{ poolSize?: number, logger?: false | import('@nestjs/common').LogLevel[] }} [more]
 */
export async function openApplication(url, options, { poolSize = 10, logger = false } = {}) {
  class Application {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, autoLoadEntities: true, retryAttempts: 0, poolSize }),
      WorkflowModule.forRoot({ errorReporter: { report() {} }, ...options }),
    ],
    providers,
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger });
  return { workflows: app.get(WorkflowService), dataSource: app.get(DataSource), close: () => app.close() };
}
