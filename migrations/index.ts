/**
 * The migrations of the workflow tables.
 *
 * @module nestjs-pg-workflows/migrations
 */

import type { MigrationInterface } from 'typeorm';
import { CreateWorkflowTables1764500000000 } from './1764500000000-create-workflow-tables.js';
import { NumberWorkflowSchema1764700000000 } from './1764700000000-number-workflow-schema.js';

/**
 * The package's TypeORM migrations, oldest first, for the `migrations` of the DataSource that holds the workflow tables.
 *
 * @example
 * ```ts
 * TypeOrmModule.forRoot({ type: 'postgres', autoLoadEntities: true, migrations: [...WorkflowMigrations], migrationsRun: true });
 * ```
 */
export const WorkflowMigrations: readonly (new () => MigrationInterface)[] = [
  CreateWorkflowTables1764500000000,
  NumberWorkflowSchema1764700000000,
];
