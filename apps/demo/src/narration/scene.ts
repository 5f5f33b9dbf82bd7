import type { INestApplication } from '@nestjs/common';
import { getRepositoryToken } from '@nestjs/typeorm';
import { WorkflowRun } from 'nestjs-pg-workflows';
import { DataSource, type Repository } from 'typeorm';
import { StockItem } from '../orders/stock.entity';
import { Client } from './client';

/** What everybody in the demonstration has. */
export interface Scene {
  readonly app: INestApplication;
  readonly client: Client;
  readonly runs: Repository<WorkflowRun>;
  /** As it is before the first order. */
  readonly stock: readonly StockItem[];
}

export async function sceneOf(app: INestApplication, url: string): Promise<Scene> {
  return {
    app,
    client: new Client(url),
    runs: app.get(getRepositoryToken(WorkflowRun), { strict: false }),
    stock: await app.get(DataSource).manager.find(StockItem),
  };
}
