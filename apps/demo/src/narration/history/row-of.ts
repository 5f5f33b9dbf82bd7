import type { INestApplication } from '@nestjs/common';
import { WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { DataSource, type EntityManager } from 'typeorm';

/** What stands in the row of a run, beside its moments. */
export interface RowOfRun {
  readonly digest: string;
  /** As JSON, as the column has it. */
  readonly args: string;
}

/** The row that a run would have which began now: it is started, looked at, and taken back. */
export async function rowOf(
  app: INestApplication,
  start: (workflows: WorkflowService, manager: EntityManager) => Promise<WorkflowHandle>,
): Promise<RowOfRun> {
  const runner = app.get(DataSource).createQueryRunner();
  await runner.startTransaction();
  try {
    const { id } = await start(app.get(WorkflowService), runner.manager);
    const [row] = await runner.manager.query<[RowOfRun]>(
      'select definition_digest as digest, arguments::text as args from workflows where id = $1',
      [id],
    );
    return row;
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}
