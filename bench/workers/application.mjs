// @ts-check
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { WorkflowModule, WorkflowService } from 'nestjs-pg-workflows';
import { FiveSteps } from '../app.mjs';
import { Burst, Elsewhere, Probe, Unserved, Urgent } from './workflows.mjs';

/**
 * An application as one has it: with a worker, or without one, as the web processes of a larger application are.
 *
 * @param {string} url
 * @param {import('nestjs-pg-workflows').WorkflowModuleOptions['worker']} worker
 */
export async function openApplication(url, worker) {
  class Application {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 10, autoLoadEntities: true, retryAttempts: 0 }),
      WorkflowModule.forRoot({ ...(worker !== undefined && { worker }) }),
    ],
    providers: [FiveSteps, Burst, Probe, Urgent, Elsewhere, Unserved],
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, {
    // Several of those without a worker live in one process, which TypeORM warns of.
    logger: worker === false ? ['error'] : ['error', 'warn'],
  });
  return { workflows: app.get(WorkflowService), dataSource: app.get(DataSource), close: () => app.close() };
}
