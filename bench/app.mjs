// @ts-check
// What is measured: Nest, TypeORM and the built package, put together as an application does.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { step, Workflow, WorkflowModule, WorkflowOf, WorkflowService } from 'nestjs-pg-workflows';

const nothing = async () => {};

/**
 * Five steps that do nothing.
 *
 * @extends {WorkflowOf<null, { order: number }>}
 */
export class FiveSteps extends WorkflowOf {}
Workflow({ name: 'FiveSteps', steps: ['one', 'two', 'three', 'four', 'five'].map((name) => step(name, nothing)) })(
  FiveSteps,
);

/**
 * Three steps; the last body tells who waits for it.
 *
 * @extends {WorkflowOf<null, { order: number }>}
 */
export class ThreeSteps extends WorkflowOf {
  /** @type {() => void} */
  static ended = () => {};
}
Workflow({
  name: 'ThreeSteps',
  steps: [step('one', nothing), step('two', nothing), step('three', async () => ThreeSteps.ended())],
})(ThreeSteps);

/** As `DispatcherModes` of the worker. */
export const ALL_MODES = { settleInSets: true, continueInPlace: true, claimInSets: true };
export const NO_MODES = { settleInSets: false, continueInPlace: false, claimInSets: false };

/**
 * @param {string} url
 * @param {false | typeof ALL_MODES} modes false: without a worker
 */
export async function openApp(url, modes) {
  class Application {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, autoLoadEntities: true, retryAttempts: 0 }),
      modes
        ? withModes(WorkflowModule.forRoot({ worker: { concurrency: 100 } }), modes)
        : WorkflowModule.forRoot({ worker: false }),
    ],
    providers: [FiveSteps, ThreeSteps],
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: ['error', 'warn'] });
  return { workflows: app.get(WorkflowService), close: () => app.close() };
}

/**
 * The modes are no setting of the package: they are an internal provider, which stands here under its token's name.
 *
 * @param {import('@nestjs/common').DynamicModule} dynamicModule
 * @param {typeof ALL_MODES} modes
 */
function withModes(dynamicModule, modes) {
  const isModes = (/** @type {any} */ provider) => provider.provide?.description === 'DISPATCHER_MODES';
  const providers = dynamicModule.providers ?? [];
  if (!providers.some(isModes))
    throw new Error('The package has no provider DISPATCHER_MODES any more: correct bench/app.mjs');
  return {
    ...dynamicModule,
    providers: providers.map((provider) =>
      isModes(provider) ? { .../** @type {any} */ (provider), useValue: modes } : provider,
    ),
  };
}
