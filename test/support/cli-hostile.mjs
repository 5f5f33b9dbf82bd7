// @ts-check
// An application whose code does to the command-line tool's process what CLI_HOSTILE says, as its file is loaded, its objects are made, or a run is cancelled.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { appendFileSync } from 'node:fs';
import { onWorkflowMessage } from 'nestjs-pg-workflows';
import { AppModule as Application } from './cli-app.mjs';

const { CLI_HOSTILE = '', CLI_STARTED = '' } = process.env;
const never = () => new Promise(() => {});

export class AppModule {}
Module({
  imports: [Application],
  providers: [
    { provide: 'started', useFactory: () => CLI_STARTED !== '' && appendFileSync(CLI_STARTED, 'started\n') },
    { provide: 'hostile', useFactory: () => asMade()[CLI_HOSTILE]?.() ?? 1 },
  ],
})(AppModule);

/** @returns {Record<string, () => unknown>} */
function asLoaded() {
  return {
    'load: never settles': never,
    'load: never settles, with a timer': () => {
      setInterval(() => {}, 1_000);
      return never();
    },
    'load: exits with 0': () => process.exit(0),
    'load: exits with 1': () => process.exit(1),
    'load: throws null': () => {
      throw null;
    },
    'load: starts': async () => (await NestFactory.create(AppModule)).listen(0),
    'load: starts aside': () => {
      Promise.resolve()
        .then(() => NestFactory.createApplicationContext(AppModule))
        .catch(() => process.exit(1));
    },
  };
}

/** @returns {Record<string, () => unknown>} */
function asMade() {
  return {
    'make: exits with 0': () => process.exit(0),
    'make: throws text': () => {
      throw 'just a text';
    },
    'make: rejects aside': () => void Promise.reject(new Error('redis is away')),
    'cancel: rejects aside': () => {
      onWorkflowMessage('workflow.cancelled', () => void Promise.reject(new Error('chat answered 500')));
    },
    'cancel: throws aside': () => {
      onWorkflowMessage('workflow.cancelled', () => {
        process.nextTick(() => {
          throw new Error('redis is lost');
        });
      });
    },
    'cancel: exits with 0': () => {
      onWorkflowMessage('workflow.cancelled', () => process.exit(0));
    },
  };
}

await asLoaded()[CLI_HOSTILE]?.();
