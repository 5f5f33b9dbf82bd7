import type { DataSource } from 'typeorm';
import { WorkflowSchemaError } from '../errors.js';
import type { Connection } from './connection.js';
import { statement } from './statement.js';
import { WorkflowEntities } from './tables.js';

const COLUMNS = statement(
  'columns',
  () => `select t.name as table, coalesce(array_to_json(array_agg(a.attname::text) filter (where a.attname is not null)), '[]') as columns,
         to_regclass(t.name) is not null as exists
  from unnest($1::text[]) as t(name)
  left join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attnum > 0 and not a.attisdropped
  group by t.name`,
);

/**
 * Compares the tables with what this version reads and writes. Creates nothing.
 *
 * @throws {WorkflowSchemaError} naming what is missing and what to run
 */
export async function checkSchema(connection: Connection, dataSource: DataSource): Promise<void> {
  const { runs, steps, events, signals } = connection.tables;
  const names = [runs, steps, events, signals];
  const found = await connection.run<{ table: string; columns: string[]; exists: boolean }>(COLUMNS, [names]);
  const byName = new Map(found.map((row) => [row.table, row]));
  const missing = WorkflowEntities.flatMap((entity, index) => {
    const table = byName.get(names[index]!);
    if (!table?.exists) return [`table ${names[index]}`];
    const lacking = dataSource
      .getMetadata(entity)
      .columns.map(({ databaseName }) => databaseName)
      .filter((column) => !table.columns.includes(column));
    return lacking.length ? [`in ${names[index]} the columns ${lacking.join(', ')}`] : [];
  });
  if (!missing.length) return;
  throw new WorkflowSchemaError(
    `The workflow tables are missing or older than this version of nestjs-pg-workflows. Missing: ${missing.join('; ')}. ` +
      'Add "...WorkflowMigrations" of nestjs-pg-workflows/migrations to the migrations of this DataSource and run them ' +
      '(dataSource.runMigrations(), or "migrationsRun: true").',
  );
}
