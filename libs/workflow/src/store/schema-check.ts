import type { DataSource } from 'typeorm';
import { WorkflowSchemaError } from '../errors.js';
import type { Connection } from './connection.js';
import { MARKS, SCHEMA, SCHEMA_MIGRATIONS, schemaNumberOf } from './schema-version.js';
import { statement } from './statement.js';
import { WorkflowEntities } from './tables.js';

const COLUMNS = statement(
  'columns',
  () => `select t.name as table, coalesce(array_to_json(array_agg(a.attname::text) filter (where a.attname is not null)), '[]') as columns,
         to_regclass(t.name) is not null as exists, obj_description(to_regclass(t.name), 'pg_class') as comment,
         (select coalesce(json_agg(x.relname::text), '[]') from pg_index i join pg_class x on x.oid = i.indexrelid
          where i.indrelid = to_regclass(t.name) and i.indisunique and i.indisvalid) as "uniqueIndexes"
  from unnest($1::text[]) as t(name)
  left join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attnum > 0 and not a.attisdropped
  group by t.name`,
);

/** The tables, compared with what this version reads and writes. */
export interface SchemaState {
  /** Their schema's number; null: there is no table of runs. */
  readonly schema: number | null;
  /** The tables are marked with it: from schema 2 on. */
  readonly marked: boolean;
  /** The oldest schema that a version must know to work on them. */
  readonly forVersionsOf: number;
  /** Tables of their names that are somebody else's. */
  readonly foreign: readonly string[];
  /** Tables and columns that this version uses and that are not there, in words. */
  readonly lacking: readonly string[];
  /** Unique indexes that should be there, and are not or are invalid. */
  readonly lostIndexes: readonly string[];
  /** Migrations of this version's that have not run. */
  readonly pending: readonly string[];
}

interface Found {
  readonly table: string;
  readonly columns: string[];
  readonly exists: boolean;
  readonly comment: string | null;
  readonly uniqueIndexes: string[];
}

/** Looks at the tables, in one query. Creates nothing. */
export async function readSchema(connection: Connection, dataSource: DataSource): Promise<SchemaState> {
  const { runs, steps, events, signals } = connection.tables;
  const names = [runs, steps, events, signals];
  const found = await connection.run<Found>(COLUMNS, [names]);
  const byName = new Map(found.map((row) => [row.table, row]));
  const foreign: string[] = [];
  const lostIndexes: string[] = [];
  for (const [index, mark] of MARKS.entries()) {
    const table = byName.get(names[index]!);
    if (!table?.exists) continue;
    if (!mark.columns.every((column) => table.columns.includes(column))) foreign.push(table.table);
    lostIndexes.push(...mark.uniqueIndexes.filter((name) => !table.uniqueIndexes.includes(name)));
  }
  const lacking = WorkflowEntities.flatMap((entity, index) => {
    const table = byName.get(names[index]!);
    if (!table?.exists) return [`table ${names[index]}`];
    const columns = dataSource
      .getMetadata(entity)
      .columns.map(({ databaseName }) => databaseName)
      .filter((column) => !table.columns.includes(column));
    return columns.length ? [`in ${names[index]} the columns ${columns.join(', ')}`] : [];
  });
  const marked = schemaNumberOf(byName.get(runs)?.comment ?? null);
  const schema = byName.get(runs)?.exists && !foreign.includes(runs) ? (marked?.schema ?? 1) : null;
  return {
    schema,
    marked: marked !== null,
    forVersionsOf: marked?.forVersionsOf ?? 1,
    foreign,
    lacking,
    lostIndexes,
    pending: SCHEMA_MIGRATIONS.slice(schema ?? 0),
  };
}

const HOW_TO_MIGRATE =
  'Add "...WorkflowMigrations" of nestjs-pg-workflows/migrations to the migrations of this DataSource and run them, before processes of this version ' +
  'start ("npx typeorm migration:run -d <your data source>", dataSource.runMigrations(), or "migrationsRun: true").';

/** Why this version cannot work on the tables, and what to do; null: it can. */
export function schemaProblem(state: SchemaState): string | null {
  return problemBeyondMigrations(state) ?? problemOfMigrations(state);
}

/** A problem that migrations do not solve. */
export function problemBeyondMigrations({
  schema,
  forVersionsOf,
  foreign,
  lacking,
  lostIndexes,
  pending,
}: SchemaState): string | null {
  if (foreign.length > 0) {
    const [are, they] = foreign.length > 1 ? ['are tables', 'them'] : ['is a table', 'it'];
    return (
      `There ${are} ${foreign.join(', ')} that ${foreign.length > 1 ? 'are' : 'is'} not nestjs-pg-workflows's, which needs the name. Rename ${they}, or ` +
      'give the workflow tables a DataSource with a "schema" of their own ("connection" of WorkflowModule.forRoot()).'
    );
  }
  if (forVersionsOf > SCHEMA) {
    return (
      `The workflow tables have schema ${schema}, which versions of nestjs-pg-workflows work on that know schema ${forVersionsOf} or a later one; this ` +
      `version knows schema ${SCHEMA}. Run the version here that the tables were migrated for (docs/upgrading.md says how to go back).`
    );
  }
  const inPart =
    pending.length === 0
      ? lacking.length > 0
      : lacking.some(isTable) && lacking.filter(isTable).length < WorkflowEntities.length;
  if (inPart) {
    return (
      `The workflow tables are not whole. Missing: ${lacking.join('; ')}. The others are there: something was dropped, or left out of a restore. Restore it ` +
      'from a backup.'
    );
  }
  if (lostIndexes.length > 0) {
    const one = lostIndexes.length === 1;
    return (
      `The workflow tables have lost, or have as invalid, the unique ${one ? 'index' : 'indexes'} ${lostIndexes.join(', ')}. Without ` +
      `${one ? 'it' : 'them'} two runs go on for one subject or key, or one signal is taken twice. docs/upgrading.md has the statements that create ` +
      `${one ? 'it' : 'them'} again.`
    );
  }
  return null;
}

const isTable = (what: string): boolean => what.startsWith('table ');

function problemOfMigrations({ schema, marked, lacking, pending }: SchemaState): string | null {
  if (pending.length === 0) return null;
  const behind = schema === null ? '' : ` (the tables have schema ${schema}, this version needs ${SCHEMA})`;
  const migrations = `the ${pending.length === 1 ? 'migration' : 'migrations'} ${pending.join(', ')}${behind}`;
  const unmarked =
    schema === null || marked
      ? ''
      : ' If they have run, the tables lost their comment, as by a dump without comments: docs/upgrading.md says how to put it back.';
  return (
    'The workflow tables are missing or older than this version of nestjs-pg-workflows. Missing: ' +
    `${[...lacking, migrations].join('; ')}. ${HOW_TO_MIGRATE}${unmarked}`
  );
}

/** What whoever starts this version should know; null: nothing. */
export function schemaNotice({ schema }: SchemaState): string | null {
  if (schema === null || schema <= SCHEMA) return null;
  return (
    `The workflow tables have schema ${schema}, made for a newer version of nestjs-pg-workflows; this one knows schema ${SCHEMA}, and works on them. That is ` +
    'as it should be while a deploy is under way.'
  );
}

/**
 * Compares the tables with what this version needs. Creates nothing.
 *
 * @returns what is worth a warning: they are newer; null: nothing
 * @throws {WorkflowSchemaError} naming what is missing and what to run
 */
export async function checkSchema(connection: Connection, dataSource: DataSource): Promise<string | null> {
  const state = await readSchema(connection, dataSource);
  const problem = schemaProblem(state);
  if (problem !== null) throw new WorkflowSchemaError(problem);
  return schemaNotice(state);
}
