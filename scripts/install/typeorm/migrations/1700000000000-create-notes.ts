import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateNotes1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table notes (id integer primary key)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table notes');
  }
}
