import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * From here on the table of runs says, in its comment, which schema the tables have, and the oldest that a version of the package must know to work on
 * them. A comment needs no fifth table, is read with the catalogue in one query, and commits with the migration that writes it.
 */
export class NumberWorkflowSchema1764700000000 implements MigrationInterface {
  name = 'NumberWorkflowSchema1764700000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `comment on table ${runsOf(queryRunner)} is 'nestjs-pg-workflows: schema 2, for versions that know schema 1'`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`comment on table ${runsOf(queryRunner)} is null`);
  }
}

function runsOf(queryRunner: QueryRunner): string {
  const { schema } = queryRunner.connection.options as { schema?: string };
  return schema ? `"${schema.replaceAll('"', '""')}".workflows` : 'workflows';
}
