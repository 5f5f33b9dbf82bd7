// @ts-check
// An application, as an ES module, that the command-line tool opens. It is noisy, and starts things in its life-cycle hooks: the file CLI_TRAP tells of those.

import 'reflect-metadata';
import { Logger, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { appendFileSync } from 'node:fs';
import { WorkflowModule } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { ERRANDS } from './errands.mjs';

const { CLI_BUILD, CLI_MIGRATES, CLI_TRAP = '', CLI_DATABASE_URL } = process.env;

const HOOKS = [
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
];

class Noise {
  constructor() {
    console.log('the application says hello');
    new Logger('Noise').log('and logs it');
    for (const hook of HOOKS) Object.assign(this, { [hook]: () => CLI_TRAP && appendFileSync(CLI_TRAP, `${hook}\n`) });
  }

  /** What an application leaves open. */
  timer = setInterval(() => {}, 1_000);
}

export class AppModule {}
Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: CLI_DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: CLI_MIGRATES === 'true',
    }),
    WorkflowModule.forRoot({ maxPayloadSize: 2_000 }),
  ],
  providers: [Noise, ...ERRANDS[CLI_BUILD === 'new' ? 'new' : 'old']],
})(AppModule);

/** Some other module of it. */
export class PlainModule {}
Module({ providers: [] })(PlainModule);

/** It would not boot: two of them. */
export class TwiceModule {}
Module({ imports: [AppModule, WorkflowModule.forRoot()] })(TwiceModule);
