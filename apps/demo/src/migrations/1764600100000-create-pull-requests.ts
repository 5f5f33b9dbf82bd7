import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreatePullRequests1764600100000 implements MigrationInterface {
  name = 'CreatePullRequests1764600100000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      create table pull_requests (
        id bigint primary key,
        repository text not null,
        number integer not null,
        title text not null,
        author text not null,
        reviewer text,
        closed_at timestamptz
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('drop table pull_requests');
  }
}
