import { Column, Entity, PrimaryColumn } from 'typeorm';
import { identityAsText } from './identity.js';
import type { SignalStatus } from './states.js';

/** A signal that was sent to a run. */
@Entity({ name: 'workflow_signals', synchronize: false })
export class WorkflowSignal {
  /** Ascending in the order of storing. */
  @PrimaryColumn({ type: 'bigint', transformer: identityAsText })
  id!: string;

  /** The run it was sent to. */
  @Column({ name: 'workflow_id', type: 'uuid' })
  workflowId!: string;

  /** What it was sent as. */
  @Column({ type: 'varchar', length: 255 })
  name!: string;

  /** As stored: see `model/payload.ts`. */
  @Column({ type: 'json' })
  payload!: unknown;

  /** The key it was sent under: a second delivery with it stores nothing. */
  @Column({ name: 'idempotency_key', type: 'varchar', length: 255, nullable: true })
  idempotencyKey!: string | null;

  /** What became of it. */
  @Column({ type: 'text', default: 'pending' })
  status!: SignalStatus;

  /** The attempt that took it. */
  @Column({ name: 'claimed_by_step_id', type: 'bigint', nullable: true, transformer: identityAsText })
  claimedByStepId!: string | null;

  /** When it was stored. */
  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;

  /** When a step took it; null: none did. */
  @Column({ name: 'claimed_at', type: 'timestamptz', nullable: true })
  claimedAt!: Date | null;

  /** When that step ended; null: it has not. */
  @Column({ name: 'consumed_at', type: 'timestamptz', nullable: true })
  consumedAt!: Date | null;
}
