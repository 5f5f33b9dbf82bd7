import { Column, Entity, PrimaryColumn } from 'typeorm';
import { identityAsText } from './identity.js';
import type { StepOutcome, StepStatus } from './states.js';

/**
 * An attempt of a step, and the queue entry it was claimed from; or, with `parentStepId`, a member of a fan-out. Written by
 * the engine's statements only.
 */
@Entity({ name: 'workflow_steps', synchronize: false })
export class WorkflowStep {
  /** Ascending in the order of storing. */
  @PrimaryColumn({ type: 'bigint', transformer: identityAsText })
  id!: string;

  /** The run it belongs to. */
  @Column({ name: 'workflow_id', type: 'uuid' })
  workflowId!: string;

  /** What must be loaded to run it: the workflow's name, for a member its job's. */
  @Column({ type: 'varchar', length: 255 })
  handler!: string;

  /** The step it is an attempt of; for a member, its fan-out's. */
  @Column({ name: 'step_name', type: 'varchar', length: 255 })
  stepName!: string;

  /** 1, 2, 3, … without gaps for each step of a run. */
  @Column({ type: 'integer' })
  attempt!: number;

  /** Place in its fan-out; -1 for an ordinary attempt. */
  @Column({ name: 'member_index', type: 'integer', default: -1 })
  memberIndex!: number;

  /** The fan-out's own row. */
  @Column({ name: 'parent_step_id', type: 'bigint', nullable: true, transformer: identityAsText })
  parentStepId!: string | null;

  /** Where it stands. */
  @Column({ type: 'text' })
  status!: StepStatus;

  /** What its end did to the run; null while it is open, and when it was ended from outside. */
  @Column({ type: 'text', nullable: true })
  outcome!: StepOutcome | null;

  /** The queue it is claimed from. */
  @Column({ type: 'varchar', length: 255 })
  queue!: string;

  /** Smaller runs first. */
  @Column({ type: 'integer', default: 0 })
  priority!: number;

  /** When it is to run. */
  @Column({ name: 'scheduled_at', type: 'timestamptz' })
  scheduledAt!: Date;

  /** The same while it may be claimed; null while its run is paused. */
  @Column({ name: 'available_at', type: 'timestamptz', nullable: true })
  availableAt!: Date | null;

  /** When its body began; null: it did not. */
  @Column({ name: 'started_at', type: 'timestamptz', nullable: true })
  startedAt!: Date | null;

  /** When it ended; null: it is open. */
  @Column({ name: 'finished_at', type: 'timestamptz', nullable: true })
  finishedAt!: Date | null;

  /** How often it was claimed: fences every outcome. */
  @Column({ name: 'claim_no', type: 'integer', default: 0 })
  claimNo!: number;

  /** The worker process that holds or held it: new for each start of a process. */
  @Column({ name: 'worker_id', type: 'uuid', nullable: true })
  workerId!: string | null;

  /** `hostname:pid`, for people. */
  @Column({ type: 'text', nullable: true })
  worker!: string | null;

  /** The revision of the application that ran it. */
  @Column({ name: 'app_revision', type: 'text', nullable: true })
  appRevision!: string | null;

  /** Until when its worker is known to be alive. */
  @Column({ name: 'lease_expires_at', type: 'timestamptz', nullable: true })
  leaseExpiresAt!: Date | null;

  /** The signal it waits for, in words. */
  @Column({ name: 'wait_for', type: 'text', nullable: true })
  waitFor!: string | null;

  /** When it parked on its signal or its batch; null: it never did. */
  @Column({ name: 'waiting_since', type: 'timestamptz', nullable: true })
  waitingSince!: Date | null;

  /** The wait's deadline. */
  @Column({ name: 'timeout_at', type: 'timestamptz', nullable: true })
  timeoutAt!: Date | null;

  /** That deadline while its run is paused: the clock is stopped. */
  @Column({ name: 'stopped_timeout_at', type: 'timestamptz', nullable: true })
  stoppedTimeoutAt!: Date | null;

  /** Woken by its deadline, not by a signal. */
  @Column({ name: 'timed_out', type: 'boolean', default: false })
  timedOut!: boolean;

  /** How many members a fan-out opened with. */
  @Column({ name: 'batch_size', type: 'integer', nullable: true })
  batchSize!: number | null;

  /** The name of a member's job; null: it is no member. */
  @Column({ name: 'job_name', type: 'varchar', length: 255, nullable: true })
  jobName!: string | null;

  /** As stored: see `model/payload.ts`. */
  @Column({ name: 'job_args', type: 'json', nullable: true })
  jobArgs!: unknown;

  /** A member's own tries. */
  @Column({ name: 'job_attempt', type: 'integer', default: 0 })
  jobAttempt!: number;

  /** As stored: see `model/payload.ts`. */
  @Column({ type: 'json', nullable: true })
  output!: unknown;

  /** The class of what it failed with; null: it did not. */
  @Column({ name: 'error_class', type: 'text', nullable: true })
  errorClass!: string | null;

  /** The message of that error. */
  @Column({ name: 'error_message', type: 'text', nullable: true })
  errorMessage!: string | null;

  /** The application's own frames, one a line. */
  @Column({ name: 'error_backtrace', type: 'text', nullable: true })
  errorBacktrace!: string | null;

  /** Its `cause`, that one's cause, and so on, twenty at most; the errors of an `AggregateError` too. */
  @Column({ name: 'error_causes', type: 'json', nullable: true })
  errorCauses!:
    | {
        /** The cause's class. */
        class: string;
        /** Its message. */
        message: string;
      }[]
    | null;

  /** When the row was stored. */
  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
