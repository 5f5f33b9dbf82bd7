import type { INestApplication } from '@nestjs/common';
import { WorkflowRun } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { Order } from '../../orders/order.entity';
import { OrderWorkflow } from '../../orders/order.workflow';
import { PullRequest } from '../../reviews/pull-request.entity';
import { ReviewWorkflow } from '../../reviews/review.workflow';
import { Chance } from './chance';
import { PastOrders } from './past-orders';
import { DAY } from './time-units';
import { PastReviews } from './past-reviews';
import { rowOf } from './row-of';
import { writePast } from './write-past';

/**
 * A past for whoever opens the dashboard: some hundred runs of the last days, as a shop has them. They are written to the tables at once, with what
 * they are about; from then on they are runs like any other.
 *
 * @returns how many
 */
export async function recallPast(app: INestApplication): Promise<number> {
  const ordering = await rowOf(app, (workflows, manager) =>
    workflows.start(OrderWorkflow, { subject: manager.create(Order, { id: 1 }), args: { gift: false }, manager }),
  );
  const reviewing = await rowOf(app, (workflows, manager) =>
    workflows.start(ReviewWorkflow, {
      subject: manager.create(PullRequest, { id: '1' }),
      args: { due: new Date(Date.now() + 3 * DAY) },
      manager,
    }),
  );
  return app.get(DataSource).transaction(async (manager) => {
    const [{ now }] = await manager.query<[{ now: Date }]>('select statement_timestamp() as now');
    const chance = new Chance();
    const orders = new PastOrders(chance, ordering.digest, now.getTime()).tell();
    const reviews = new PastReviews(chance, reviewing, now.getTime()).tell();

    // `manager.insert` would leave out the ids, which are generated as a rule.
    const columns = manager.getRepository(Order).metadata.columns.map(({ propertyName }) => propertyName);
    const into = manager.createQueryBuilder().insert().into(Order, columns);
    await into.values(orders.map(({ order }) => order)).execute();
    await manager.insert(PullRequest, reviews.map(({ pullRequest }) => pullRequest)); // prettier-ignore
    const runs = [...orders, ...reviews]
      .map(({ run }) => run)
      .toSorted((one, other) => one.beginning.at - other.beginning.at);
    await writePast(manager, runs);
    await manager.query('analyze workflows, workflow_steps');
    return manager.count(WorkflowRun);
  });
}
