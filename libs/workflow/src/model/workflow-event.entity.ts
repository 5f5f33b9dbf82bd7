import { Column, Entity, PrimaryColumn } from 'typeorm';
import { identityAsText } from './identity.js';
import type { EventName } from './states.js';

/** One line of a run's audit trail. Append-only: nothing but retention removes it. */
@Entity({ name: 'workflow_events', synchronize: false })
export class WorkflowEvent {
  /** Ascending in the order of storing. */
  @PrimaryColumn({ type: 'bigint', transformer: identityAsText })
  id!: string;

  /** The run it belongs to. */
  @Column({ name: 'workflow_id', type: 'uuid' })
  workflowId!: string;

  /** The attempt it is about. */
  @Column({ name: 'step_id', type: 'bigint', nullable: true, transformer: identityAsText })
  stepId!: string | null;

  /** What happened. */
  @Column({ type: 'text' })
  name!: EventName;

  /** `app` from code by default, `system` for the worker, otherwise who was named. */
  @Column({ type: 'varchar', length: 255 })
  actor!: string;

  /** Why, in the words of who did it. */
  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** What else there is to say, by the kind of event. */
  @Column({ type: 'json', nullable: true })
  details!: Record<string, unknown> | null;

  /** When it was stored. */
  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
