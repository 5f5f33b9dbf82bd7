import type { INestApplication } from '@nestjs/common';
import { WorkflowRun } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { Order } from '../../orders/order.entity';
import { OrderWorkflow } from '../../orders/order.workflow';
import { PullRequest } from '../../reviews/pull-request.entity';
import { ReviewWorkflow } from '../../reviews/review.workflow';
import { Chance } from './chance';
import { PastOrders } from './past-orders';
import { PastReviews } from './past-reviews';
import { writePast } from './write-past';

/**
 * A past for whoever opens the dashboard: some hundred runs of the last days, as a shop has them. They are written to the tables at once, with what
 * they are about; from then on they are runs like any other.
 *
 * @returns how many
 */
export async function recallPast(app: INestApplication): Promise<number> {
  return app.get(DataSource).transaction(async (manager) => {
    const like = async (workflowClass: string) => {
      const [found] = await manager.query<[{ digest: string; args: string }]>(
        'select definition_digest as digest, arguments::text as args from workflows where workflow_class = $1 limit 1',
        [workflowClass],
      );
      return found;
    };
    const [{ now }] = await manager.query<[{ now: Date }]>('select statement_timestamp() as now');
    const chance = new Chance();
    const orders = new PastOrders(chance, (await like(OrderWorkflow.name)).digest, now.getTime()).tell();
    const reviews = new PastReviews(chance, await like(ReviewWorkflow.name), now.getTime()).tell();

    await manager.insert(Order, orders.map(({ order }) => order)); // prettier-ignore
    await manager.insert(PullRequest, reviews.map(({ pullRequest }) => pullRequest)); // prettier-ignore
    const runs = [...orders, ...reviews]
      .map(({ run }) => run)
      .toSorted((one, other) => one.beginning.at - other.beginning.at);
    await writePast(manager, runs);
    await manager.query('analyze workflows, workflow_steps');
    return manager.count(WorkflowRun);
  });
}
