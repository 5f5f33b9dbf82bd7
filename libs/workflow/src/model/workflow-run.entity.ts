import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RunStatus } from './states.js';

/** A run: one execution of a workflow class. Written by the engine's statements only. */
@Entity({ name: 'workflows', synchronize: false })
export class WorkflowRun {
  /** UUIDv7. */
  @PrimaryColumn('uuid')
  id!: string;

  /** The workflow's name, its class's by default. */
  @Column({ name: 'workflow_class', type: 'varchar', length: 255 })
  workflowClass!: string;

  /** The type of what it is about: its entity's name, or its class's; null: it is about nothing. */
  @Column({ name: 'subject_type', type: 'varchar', length: 255, nullable: true })
  subjectType!: string | null;

  /** The id of what it is about, as text. */
  @Column({ name: 'subject_id', type: 'varchar', length: 255, nullable: true })
  subjectId!: string | null;

  /** As stored: see `model/payload.ts`. */
  @Column({ name: 'arguments', type: 'json' })
  arguments!: unknown;

  /** Where it stands. */
  @Column({ type: 'text' })
  status!: RunStatus;

  /** The step its newest attempt belongs to. */
  @Column({ name: 'current_step', type: 'varchar', length: 255 })
  currentStep!: string;

  /** The key it was started under: a second start of its class with it finds this run. */
  @Column({ name: 'idempotency_key', type: 'varchar', length: 255, nullable: true })
  idempotencyKey!: string | null;

  /** SHA-256 of the class's list of steps when the run started. */
  @Column({ name: 'definition_digest', type: 'text' })
  definitionDigest!: string;

  /** The run that this one repeats. */
  @Column({ name: 'rerun_of', type: 'uuid', nullable: true })
  rerunOf!: string | null;

  /** When it was started. */
  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;

  /** When its row last changed. */
  @Column({ name: 'updated_at', type: 'timestamptz' })
  updatedAt!: Date;

  /** When it was paused; null: it is not. */
  @Column({ name: 'paused_at', type: 'timestamptz', nullable: true })
  pausedAt!: Date | null;

  /** When it finished or was cancelled; null: it is ongoing. */
  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt!: Date | null;
}
