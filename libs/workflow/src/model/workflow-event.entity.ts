import { Column, Entity, PrimaryColumn } from 'typeorm';
import { identityAsText } from './identity.js';
import type { EventName } from './states.js';

/** One line of a run's audit trail. Append-only: nothing but retention removes it. */
@Entity({ name: 'workflow_events', synchronize: false })
export class WorkflowEvent {
  @PrimaryColumn({ type: 'bigint', transformer: identityAsText })
  id!: string;

  @Column({ name: 'workflow_id', type: 'uuid' })
  workflowId!: string;

  /** The attempt it is about. */
  @Column({ name: 'step_id', type: 'bigint', nullable: true, transformer: identityAsText })
  stepId!: string | null;

  @Column({ type: 'text' })
  name!: EventName;

  /** `app` from code by default, `system` for the worker, otherwise who was named. */
  @Column({ type: 'varchar', length: 255 })
  actor!: string;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  @Column({ type: 'json', nullable: true })
  details!: Record<string, unknown> | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
