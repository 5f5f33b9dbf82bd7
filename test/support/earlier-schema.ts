/** Rows of runs in flight as an earlier schema had them: recorded once, when that schema was the newest, and never changed. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { DataSource } from 'typeorm';

const TABLES = ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals'] as const;

type Rows = Record<(typeof TABLES)[number], Record<string, unknown>[]>;

const fileOf = (schema: number) => path.join(__dirname, `../fixtures/schema-${schema}.json`);

export function isRecorded(schema: number): boolean {
  return existsSync(fileOf(schema));
}

/** Writes what is in the tables as the fixture of that schema. */
export async function record(source: DataSource, schema: number): Promise<void> {
  const rows: Partial<Rows> = {};
  for (const table of TABLES) {
    const found = await source.query<{ row: Record<string, unknown> }[]>(
      `select row_to_json(t) as row from ${table} t order by created_at, id`,
    );
    rows[table] = found.map(({ row }) => row);
  }
  mkdirSync(path.dirname(fileOf(schema)), { recursive: true });
  // Whose machine it was is nobody's business.
  const text = JSON.stringify(rows, null, 2)
    .replaceAll(path.join(__dirname, '../..'), '/app')
    .replaceAll(`"${os.hostname()}:`, '"worker:');
  writeFileSync(fileOf(schema), `${text}\n`);
}

/** Fills the tables, which have that schema, with what was recorded of it. */
export async function restore(source: DataSource, schema: number): Promise<Rows> {
  const rows = JSON.parse(readFileSync(fileOf(schema), 'utf8')) as Rows;
  for (const table of TABLES) {
    await source.query(
      `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(rows[table])],
    );
    if (table === 'workflows') continue;
    await source.query(`select setval(pg_get_serial_sequence('${table}', 'id'), max(id)) from ${table}`);
  }
  return rows;
}
