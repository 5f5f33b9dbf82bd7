// @ts-check
// What is measured: Nest, TypeORM and the built package, put together as an application does.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createRequire } from 'node:module';
import path from 'node:path';
import { step, Workflow, WorkflowModule, WorkflowOf, WorkflowService } from 'nestjs-pg-workflows';
import { Crowd, Nothing, Parked } from './waiting.workflows.mjs';

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

/** As `DispatcherModes` of the worker. All of them is the package as it is, which is then left alone. */
export const ALL_MODES = { settleInSets: true, continueInPlace: true, claimInSets: true };
export const NO_MODES = { settleInSets: false, continueInPlace: false, claimInSets: false };

const USUAL = { providers: [FiveSteps, ThreeSteps, Parked, Crowd, Nothing], entities: [] };

/**
 * @param {string} url
 * @param {false | typeof ALL_MODES} modes false: without a worker
 * @param {Contents} contents
 *
 * @typedef {{ providers: readonly import('@nestjs/common').Type[], entities: readonly import('typeorm').EntitySchema[] }} Contents
 */
export async function openApp(url, modes, { providers, entities } = USUAL) {
  class Application {}
  Module({
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url,
        autoLoadEntities: true,
        entities: [...entities],
        retryAttempts: 0,
      }),
      workflowModule(modes),
    ],
    providers: [...providers],
  })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: ['error', 'warn'] });
  return { workflows: app.get(WorkflowService), claimOnce: () => claimOnce(app), close: () => app.close() };
}

/** @param {false | typeof ALL_MODES} modes */
function workflowModule(modes) {
  if (!modes) return WorkflowModule.forRoot({ worker: false });
  const dynamicModule = WorkflowModule.forRoot({ worker: { concurrency: 100 } });
  return modes === ALL_MODES ? dynamicModule : withModes(dynamicModule, modes);
}

/**
 * One claim of the worker's own statement, for one free slot, as this process would make it.
 *
 * @param {import('@nestjs/common').INestApplicationContext} app
 * @returns {Promise<number>} milliseconds
 */
async function claimOnce(app) {
  const { database, worker } = app.get(inPackage('engine/engine.parts.js').ENGINE_PARTS, { strict: false });
  const { claim } = inPackage('store/claim.js');
  const { stepKey } = inPackage('store/step-key.js');
  const filter = {
    lanes: [{ queue: 'default', priority: 0 }],
    handlers: ['Parked'],
    plainSteps: ['next', 'wait'].map((name) => stepKey('Parked', name)),
    gatedSteps: [],
    inHand: [],
  };
  return database.connect(async (/** @type {any} */ connection) => {
    const begun = performance.now();
    const { plain } = await claim(connection, filter, worker, 1);
    if (plain.length !== 1) throw new Error('The claim took nothing');
    return performance.now() - begun;
  });
}

/**
 * A file of the built package that is no part of its interface.
 *
 * @param {string} file
 */
function inPackage(file) {
  const require = createRequire(import.meta.url);
  return require(path.join(path.dirname(require.resolve('nestjs-pg-workflows')), file));
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
