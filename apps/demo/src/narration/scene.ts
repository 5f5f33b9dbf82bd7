import type { INestApplication } from '@nestjs/common';
import { getRepositoryToken } from '@nestjs/typeorm';
import { WorkflowRun } from 'nestjs-pg-workflows';
import { DataSource, MoreThanOrEqual, type FindOptionsWhere, type Repository } from 'typeorm';
import { PullRequest } from '../reviews/pull-request.entity';
import { StockItem } from '../orders/stock.entity';
import { Client } from './client';

/** What everybody in the demonstration has. */
export interface Scene {
  readonly app: INestApplication;
  readonly client: Client;
  readonly runs: Repository<WorkflowRun>;
  /** Those of the demonstration: there may be a past, which is none of its business. */
  readonly played: FindOptionsWhere<WorkflowRun>;
  /** The pull requests of that past. */
  readonly knownPullRequests: readonly string[];
  /** As it is before the first order. */
  readonly stock: readonly StockItem[];
}

export async function sceneOf(app: INestApplication, url: string): Promise<Scene> {
  const { manager } = app.get(DataSource);
  const [{ now }] = await manager.query<[{ now: Date }]>('select statement_timestamp() as now');
  return {
    app,
    client: new Client(url),
    runs: app.get(getRepositoryToken(WorkflowRun), { strict: false }),
    played: { createdAt: MoreThanOrEqual(now) },
    knownPullRequests: (await manager.find(PullRequest)).map(({ id }) => id),
    stock: await manager.find(StockItem),
  };
}
