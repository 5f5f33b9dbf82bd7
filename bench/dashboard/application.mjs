// @ts-check
// The application that is looked at, in a process of its own: what it computes takes nothing from whoever measures. Told DATABASE_URL; tells its address.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowModule } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { PROVIDERS } from './workflows.mjs';

class Everybody {
  canActivate() {
    return true;
  }
}

class Application {}
Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
      retryAttempts: 0,
    }),
    WorkflowModule.forRoot({ worker: false, metrics: false, admin: { guards: [Everybody] } }),
  ],
  providers: PROVIDERS,
})(Application);

const app = await NestFactory.create(Application, { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
// Whoever started it is gone, or has enough.
process.on('disconnect', () => void app.close().then(() => process.exit()));
process.send?.({ page: `${await app.getUrl()}/admin/workflows/` });
