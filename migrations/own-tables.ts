import type { QueryRunner } from 'typeorm';

/** By these columns, which every schema has, a table is known to be the package's: an application may have a table `workflows` of its own. */
export const MARKING_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  workflows: ['workflow_class', 'current_step', 'definition_digest'],
  workflow_steps: ['workflow_id', 'step_name', 'member_index', 'claim_no'],
  workflow_events: ['workflow_id', 'step_id', 'actor'],
  workflow_signals: ['workflow_id', 'payload', 'claimed_by_step_id'],
};

/** Whatever has the name of one of the four tables, in the schema where they are made. */
export interface NamedTable {
  readonly name: string;
  readonly isOurs: boolean;
  readonly comment: string | null;
}

/** Looks at what has their names. */
export async function namedTables(queryRunner: QueryRunner): Promise<NamedTable[]> {
  const { schema } = queryRunner.connection.options as { schema?: string };
  const found = (await queryRunner.query(
    `select c.relname as name, c.relkind in ('r', 'p') as is_table, obj_description(c.oid, 'pg_class') as comment,
            (select json_agg(a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)::text as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = coalesce($1, current_schema()) and c.relname = any($2)
     order by c.relname`,
    [schema ?? null, Object.keys(MARKING_COLUMNS)],
  )) as { name: string; is_table: boolean; comment: string | null; columns: string | null }[];
  return found.map(({ name, is_table, comment, columns }) => {
    const has = new Set(JSON.parse(columns ?? '[]') as string[]);
    const marks = Object.entries(MARKING_COLUMNS)
      .filter(([of]) => of === name)
      .flatMap(([, marking]) => marking);
    return { name, comment, isOurs: is_table && marks.every((column) => has.has(column)) };
  });
}

/** @throws when one of them is somebody else's: what is thrown rolls the migration back */
export function refuseForeign(tables: readonly NamedTable[]): void {
  const foreign = tables.filter(({ isOurs }) => !isOurs).map(({ name }) => name);
  if (foreign.length === 0) return;
  const many = foreign.length > 1;
  throw new Error(
    `There ${many ? 'are tables' : 'is a table'} ${foreign.join(', ')} that ${many ? 'are' : 'is'} not nestjs-pg-workflows's, which needs the ` +
      `${many ? 'names' : 'name'}. Nothing was changed. Rename ${many ? 'them' : 'it'}, or give the workflow tables a DataSource with a "schema" of their ` +
      'own ("connection" of WorkflowModule.forRoot()), and run its migrations.',
  );
}

/** The name of a table in the DataSource's schema, when it has one. */
export function qualified(queryRunner: QueryRunner, name: string): string {
  const { schema } = queryRunner.connection.options as { schema?: string };
  return schema ? `"${schema.replaceAll('"', '""')}"."${name}"` : name;
}
