import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MARKING_COLUMNS, namedTables, qualified, refuseForeign } from './own-tables.js';

/**
 * The four tables. A row of `workflow_steps` is both the record of an attempt and the queue entry: there is no message
 * table. Statuses and "an ended row has an end" are CHECK constraints, so that no writer can break them.
 *
 * No index of `workflows` names `status` or `current_step`: its many updates then stay HOT. There is no foreign key from
 * `workflow_events`: it would cost a lock on the run's row for each event.
 */
export class CreateWorkflowTables1764500000000 implements MigrationInterface {
  name = 'CreateWorkflowTables1764500000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const table = (name: string) => qualified(queryRunner, name);
    const there = await namedTables(queryRunner);
    refuseForeign(there);
    if (there.length > 0) return refusePart(there.map(({ name }) => name));

    await queryRunner.query(`
      create table ${table('workflows')} (
        id uuid primary key,
        workflow_class varchar(255) not null,
        subject_type varchar(255),
        subject_id varchar(255),
        arguments json not null,
        status text not null,
        current_step varchar(255) not null,
        idempotency_key varchar(255),
        definition_digest text not null,
        rerun_of uuid,
        created_at timestamptz not null default statement_timestamp(),
        updated_at timestamptz not null default statement_timestamp(),
        paused_at timestamptz,
        ended_at timestamptz,
        constraint workflows_status_known
          check (status in ('ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled')),
        constraint workflows_ended_have_an_end check ((status in ('finished', 'cancelled')) = (ended_at is not null)),
        constraint workflows_paused_have_a_start check ((status = 'paused') = (paused_at is not null)),
        constraint workflows_subject_whole check ((subject_type is null) = (subject_id is null))
      ) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`);
    await queryRunner.query(`
      create unique index workflows_one_ongoing on ${table('workflows')} (subject_type, subject_id, workflow_class)
        where subject_id is not null and ended_at is null`);
    await queryRunner.query(`
      create unique index workflows_idempotency_key on ${table('workflows')} (workflow_class, idempotency_key)
        where idempotency_key is not null`);
    await queryRunner.query(`create index workflows_newest on ${table('workflows')} (created_at desc, id desc)`);
    await queryRunner.query(`
      create index workflows_ongoing on ${table('workflows')} (workflow_class, created_at desc, id desc)
        where ended_at is null`);
    await queryRunner.query(`
      create index workflows_paused on ${table('workflows')} (paused_at) where paused_at is not null`);
    await queryRunner.query(`
      create index workflows_ended on ${table('workflows')} (ended_at) where ended_at is not null`);

    await queryRunner.query(`
      create table ${table('workflow_steps')} (
        id bigint generated always as identity primary key,
        workflow_id uuid not null references ${table('workflows')} (id) on delete cascade,
        handler varchar(255) not null,
        step_name varchar(255) not null,
        attempt integer not null,
        member_index integer not null default -1,
        parent_step_id bigint,
        status text not null,
        outcome text,
        queue varchar(255) not null,
        priority integer not null default 0,
        scheduled_at timestamptz not null,
        available_at timestamptz,
        started_at timestamptz,
        finished_at timestamptz,
        claim_no integer not null default 0,
        worker_id uuid,
        worker text,
        app_revision text,
        lease_expires_at timestamptz,
        wait_for text,
        waiting_since timestamptz,
        timeout_at timestamptz,
        stopped_timeout_at timestamptz,
        timed_out boolean not null default false,
        batch_size integer,
        job_name varchar(255),
        job_args json,
        job_attempt integer not null default 0,
        output json,
        error_class text,
        error_message text,
        error_backtrace text,
        error_causes json,
        created_at timestamptz not null default statement_timestamp(),
        constraint workflow_steps_one_attempt unique (workflow_id, step_name, member_index, attempt),
        constraint workflow_steps_status_known
          check (status in ('scheduled', 'waiting', 'in_progress', 'completed', 'failed', 'cancelled', 'skipped')),
        constraint workflow_steps_outcome_known
          check (outcome in ('completed', 'skipped', 'reattempted', 'paused', 'cancelled', 'finished')),
        constraint workflow_steps_ended_have_an_end
          check ((status in ('completed', 'failed', 'cancelled', 'skipped')) = (finished_at is not null)),
        constraint workflow_steps_claimed_have_a_worker
          check (status <> 'in_progress' or (started_at is not null and worker_id is not null)),
        constraint workflow_steps_members_have_a_parent check ((member_index >= 0) = (parent_step_id is not null))
      ) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`);
    await queryRunner.query(`
      create index workflow_steps_claim on ${table('workflow_steps')} (queue, priority, available_at, id)
        where status = 'scheduled' and available_at is not null`);
    await queryRunner.query(`
      create unique index workflow_steps_one_open on ${table('workflow_steps')} (workflow_id)
        where status in ('scheduled', 'waiting', 'in_progress') and parent_step_id is null`);
    await queryRunner.query(`
      create index workflow_steps_in_progress on ${table('workflow_steps')} (worker_id) where status = 'in_progress'`);
    await queryRunner.query(`
      create index workflow_steps_wait_deadline on ${table('workflow_steps')} (handler, timeout_at)
        where status = 'waiting' and timeout_at is not null`);
    await queryRunner.query(`
      create index workflow_steps_waiting on ${table('workflow_steps')} (handler, step_name, workflow_id)
        where status = 'waiting' and batch_size is null`);
    await queryRunner.query(`
      create index workflow_steps_batches on ${table('workflow_steps')} (workflow_id)
        where status = 'waiting' and batch_size is not null`);
    await queryRunner.query(`
      create index workflow_steps_unbounded_waits on ${table('workflow_steps')} (waiting_since)
        where status = 'waiting' and timeout_at is null`);
    await queryRunner.query(`
      create index workflow_steps_due_to_join on ${table('workflow_steps')} (available_at)
        where status = 'waiting' and available_at is not null`);
    await queryRunner.query(`
      create index workflow_steps_open_members on ${table('workflow_steps')} (parent_step_id, member_index)
        where parent_step_id is not null and status in ('scheduled', 'in_progress')`);

    await queryRunner.query(`
      create table ${table('workflow_events')} (
        id bigint generated always as identity,
        workflow_id uuid not null,
        step_id bigint,
        name text not null,
        actor varchar(255) not null,
        reason text,
        details json,
        created_at timestamptz not null default statement_timestamp(),
        primary key (workflow_id, id)
      )`);

    await queryRunner.query(`
      create table ${table('workflow_signals')} (
        id bigint generated always as identity primary key,
        workflow_id uuid not null references ${table('workflows')} (id) on delete cascade,
        name varchar(255) not null,
        payload json not null,
        idempotency_key varchar(255),
        status text not null default 'pending',
        claimed_by_step_id bigint,
        created_at timestamptz not null default statement_timestamp(),
        claimed_at timestamptz,
        consumed_at timestamptz,
        constraint workflow_signals_one_delivery unique (workflow_id, idempotency_key),
        constraint workflow_signals_status_known check (status in ('pending', 'claimed', 'consumed')),
        constraint workflow_signals_claimed_by_a_step check ((status = 'pending') = (claimed_by_step_id is null))
      )`);
    await queryRunner.query(`
      create index workflow_signals_pending on ${table('workflow_signals')} (workflow_id, id) where status = 'pending'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const ours = (await namedTables(queryRunner)).filter(({ isOurs }) => isOurs).map(({ name }) => name);
    // The runs' table last: others refer to it.
    for (const name of Object.keys(MARKING_COLUMNS).toReversed()) {
      if (ours.includes(name)) await queryRunner.query(`drop table ${qualified(queryRunner, name)}`);
    }
  }
}

/** All four may be there: somebody's list of migrations was lost. */
function refusePart(there: readonly string[]): void {
  const missing = Object.keys(MARKING_COLUMNS).filter((name) => !there.includes(name));
  if (missing.length === 0) return;
  throw new Error(
    `Of the tables of nestjs-pg-workflows ${there.join(', ')} ${there.length === 1 ? 'is' : 'are'} there, and ${missing.join(', ')} not: something was ` +
      'dropped, or left out of a restore. Restore it from a backup, or, if no run is worth keeping, drop the others too.',
  );
}
