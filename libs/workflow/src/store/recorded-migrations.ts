import type { DataSource } from 'typeorm';
import type { Connection } from './connection.js';

/** What TypeORM would go by if it ran the migrations now. */
export interface RecordedMigrations {
  /** Names of those that it has as run: it does not run them again. */
  readonly recorded: readonly string[];
  /** There is a schema for tables, and this role may create some in it. */
  readonly mayCreate: boolean;
}

/** Reads TypeORM's table of migrations. TypeORM's own look would create it. */
export async function readRecordedMigrations(
  connection: Connection,
  { options }: DataSource,
): Promise<RecordedMigrations> {
  const { schema, migrationsTableName = 'migrations' } = options as { schema?: string; migrationsTableName?: string };
  const [place] = await connection.ask<{ table: string | null; may_create: boolean }>(
    () => `select format('%I.%I', n.nspname, $2::text) as table, has_schema_privilege(n.oid, 'create') as may_create
           from pg_namespace n where n.nspname = coalesce($1::text, current_schema())`,
    [schema ?? null, migrationsTableName],
  );
  if (!place) return { recorded: [], mayCreate: false };
  const [there] = await connection.ask<{ exists: boolean }>(
    () => `select to_regclass($1) is not null as exists`,
    [place.table],
  );
  const rows = there!.exists ? await connection.ask<{ name: string }>(() => `select name from ${place.table}`, []) : [];
  return { recorded: rows.map(({ name }) => name), mayCreate: place.may_create };
}
