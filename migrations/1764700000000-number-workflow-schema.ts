import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namedTables, qualified, refuseForeign } from './own-tables.js';

/**
 * From here on the table of runs says, in its comment, which schema the tables have, and the oldest that a version of the package must know to work on
 * them. A comment needs no fifth table, is read with the catalogue in one query, and commits with the migration that writes it. What else it says stays.
 */
export class NumberWorkflowSchema1764700000000 implements MigrationInterface {
  name = 'NumberWorkflowSchema1764700000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const tables = await namedTables(queryRunner);
    refuseForeign(tables);
    const others = othersComment(tables.find(({ name }) => name === 'workflows')?.comment);
    await comment(queryRunner, [...others, 'nestjs-pg-workflows: schema 2, for versions that know schema 1']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const runs = (await namedTables(queryRunner)).find(({ name, isOurs }) => name === 'workflows' && isOurs);
    if (runs) await comment(queryRunner, othersComment(runs.comment));
  }
}

const MARK = /\s*nestjs-pg-workflows: schema \d+, for versions that know schema \d+/;

/** What somebody else wrote there. */
function othersComment(text: string | null | undefined): string[] {
  const rest = (text ?? '').replace(MARK, '');
  return rest === '' ? [] : [rest];
}

async function comment(queryRunner: QueryRunner, lines: readonly string[]): Promise<void> {
  // COMMENT takes no parameters. E'' reads backslashes alike, whatever standard_conforming_strings is.
  const text = lines.join('\n').replaceAll("'", "''");
  const literal = text.includes('\\') ? `E'${text.replaceAll('\\', '\\\\')}'` : `'${text}'`;
  await queryRunner.query(
    `comment on table ${qualified(queryRunner, 'workflows')} is ${lines.length === 0 ? 'null' : literal}`,
  );
}
