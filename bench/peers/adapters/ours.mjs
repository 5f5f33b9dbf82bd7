// @ts-check
// Ourselves, as an application has us: Nest, TypeORM, the built package.

import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { fanOut, step, Workflow, WorkflowJob, WorkflowModule, WorkflowOf, WorkflowService } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { FIVE, Tally, THREE } from '../tally.mjs';

let tally = new Tally();

/** @param {readonly string[]} bodies */
const stepsOf = (bodies) =>
  bodies.map((body) =>
    step(body.replace('.', ''), async (/** @type {{ args: { order: number } }} */ ctx) =>
      tally.ran(body, ctx.args.order),
    ),
  );

/** @extends {WorkflowOf<null, { order: number }>} */
class Five extends WorkflowOf {}
Workflow({ name: 'Five', steps: stepsOf(FIVE) })(Five);

/** @extends {WorkflowOf<null, { order: number }>} */
class Three extends WorkflowOf {}
Workflow({ name: 'Three', steps: stepsOf(THREE) })(Three);

/** @extends {WorkflowOf<null, { order: number }>} */
class Parked extends WorkflowOf {}
Workflow({
  name: 'Parked',
  steps: [
    step('parked', async (ctx) => tally.ran('parked.parked', ctx.args.order)),
    step('woken', async (ctx) => tally.ran('parked.woken', ctx.args.order), { waitFor: 'go' }),
  ],
})(Parked);

class Child {
  /** @param {{ order: number }} args */
  async perform({ order }) {
    tally.ran('crowd.child', order);
  }
}
WorkflowJob({ name: 'Child' })(Child);

/** @extends {WorkflowOf<null, { order: number, children: number }>} */
class Crowd extends WorkflowOf {}
Workflow({
  name: 'Crowd',
  steps: [
    fanOut('crowd', async (ctx, batch) => {
      for (let child = 0; child < ctx.args.children; child += 1) batch.add(Child, { order: ctx.args.order });
    }),
    step('joined', async (ctx) => tally.ran('crowd.joined', ctx.args.order)),
  ],
})(Crowd);

/**
 * @param {number} concurrency
 * @returns {import('../peer.mjs').Peer}
 */
export const ours = (concurrency) => ({
  unfinished: 'select from workflows where ended_at is null limit 1',
  parking: "select from workflows where status <> 'waiting' limit 1",
  failed: "select from workflow_steps where status in ('failed', 'cancelled') limit 1",
  recorded: "select count(*)::int as steps from workflow_steps where status = 'completed' and member_index = -1",
  async prepare(url) {
    const dataSource = new DataSource({ type: 'postgres', url, migrations: [...WorkflowMigrations] });
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
  },
  async open(url, told, worker) {
    tally = told;
    class Application {}
    Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url, autoLoadEntities: true, retryAttempts: 0 }),
        WorkflowModule.forRoot({ worker: worker && { concurrency } }),
      ],
      providers: [Five, Three, Parked, Crowd, Child],
    })(Application);
    const app = await NestFactory.createApplicationContext(Application, { logger: ['error', 'warn'] });
    const workflows = app.get(WorkflowService);
    /** @type {Map<number, { signal(name: string): Promise<unknown> }>} */
    const parked = new Map();
    return {
      async startMany(orders) {
        const AT_ONCE = 500;
        for (let begin = 0; begin < orders.length; begin += AT_ONCE) {
          await workflows.startMany(
            Five,
            orders.slice(begin, begin + AT_ONCE).map((order) => ({ args: { order } })),
          );
        }
      },
      start: (workflow, order) => workflows.start(workflow === 'five' ? Five : Three, { args: { order } }),
      async park(orders) {
        const runs = await workflows.startMany(
          Parked,
          orders.map((order) => ({ args: { order } })),
        );
        runs.forEach((run, index) => parked.set(orders[index], run));
      },
      wake: async (order) => parked.get(order)?.signal('go'),
      fanOut: (order, children) => workflows.start(Crowd, { args: { order, children } }),
      close: () => app.close(),
    };
  },
});
