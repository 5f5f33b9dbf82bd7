import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowEntities } from '../store/tables.js';
import { WorkflowModule } from '../workflow.module.js';
import { UsageError } from './exit.js';

@Module({})
class TablesOnly {}

/**
 * An application that has the tables and no class: for runs that are to be looked at, or cancelled, where there is no build.
 *
 * @throws {UsageError} for what is no URL of PostgreSQL
 */
export function tablesOnly(url: string, schema: string | undefined): DynamicModule {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new UsageError('--database-url has to be a URL such as postgres://user@host:5432/database.');
  }
  return {
    module: TablesOnly,
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url,
        ...(schema !== undefined && { schema }),
        entities: [...WorkflowEntities],
        retryAttempts: 0,
      }),
      WorkflowModule.forRoot({ worker: false, metrics: false }),
    ],
  };
}
