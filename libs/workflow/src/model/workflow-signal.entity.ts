import { Column, Entity, PrimaryColumn } from 'typeorm';
import { identityAsText } from './identity.js';
import type { SignalStatus } from './states.js';

/** A signal that was sent to a run. */
@Entity({ name: 'workflow_signals', synchronize: false })
export class WorkflowSignal {
  @PrimaryColumn({ type: 'bigint', transformer: identityAsText })
  id!: string;

  @Column({ name: 'workflow_id', type: 'uuid' })
  workflowId!: string;

  @Column({ type: 'varchar', length: 255 })
  name!: string;

  /** As stored: see `model/payload.ts`. */
  @Column({ type: 'json' })
  payload!: unknown;

  @Column({ name: 'idempotency_key', type: 'varchar', length: 255, nullable: true })
  idempotencyKey!: string | null;

  @Column({ type: 'text', default: 'pending' })
  status!: SignalStatus;

  /** The attempt that took it. */
  @Column({ name: 'claimed_by_step_id', type: 'bigint', nullable: true, transformer: identityAsText })
  claimedByStepId!: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;

  @Column({ name: 'claimed_at', type: 'timestamptz', nullable: true })
  claimedAt!: Date | null;

  @Column({ name: 'consumed_at', type: 'timestamptz', nullable: true })
  consumedAt!: Date | null;
}
