import type { StepDefinition } from '../definition/definition.js';
import type { EntityReference } from '../model/entity-reference.js';
import type { LoadedWorkflow, WorkflowRegistry } from '../registry/workflow.registry.js';
import type { ClaimedRow } from '../store/claim.js';
import type { RunRow, StepRow } from '../store/run.js';
import type { SignalRow } from '../store/signals.js';
import { Abortable } from './abortable.js';
import type { Gate } from './gate.js';
import type { LiveBatch } from './live-batch.js';

/** One attempt that this process holds: its row is in progress under our claim. */
export class Attempt extends Abortable {
  /** Its place in a run that goes on in place: 1 for an attempt that was claimed by itself. */
  chain = 1;
  /** The signal that it was claimed with, until its gate is made of it. */
  wokenBy: SignalRow | null = null;
  /** Its place at the signal it waits for; null in a step without `waitFor`. */
  gate: Gate | null = null;
  /** What its body added, when it is a fan-out whose body has run. */
  batch: LiveBatch | null = null;
  /** When its body began (`performance.now()`), as far as this process knows. */
  begunAt = performance.now();

  constructor(
    readonly workflow: LoadedWorkflow,
    readonly step: StepDefinition,
    readonly row: {
      readonly id: string;
      readonly workflowId: string;
      readonly attempt: number;
      readonly claimNo: number;
      readonly queue: string;
      readonly priority: number;
    },
    readonly input: {
      /** As stored. */
      readonly args: unknown;
      readonly subject: EntityReference | null;
    },
  ) {
    super();
  }

  /** As errors name it. */
  get label(): string {
    return `${this.workflow.definition.name}, step "${this.step.name}"`;
  }
}

/** The attempt that a claim of this row would make. */
export function attemptOfDue(workflow: LoadedWorkflow, step: StepDefinition, run: RunRow, row: StepRow): Attempt {
  return new Attempt(
    workflow,
    step,
    {
      id: row.id,
      workflowId: run.id,
      attempt: row.attempt,
      claimNo: row.claim_no + 1,
      queue: row.queue,
      priority: row.priority,
    },
    {
      args: run.arguments,
      subject: run.subject_type === null ? null : { type: run.subject_type, id: run.subject_id! },
    },
  );
}

/** The attempt that the claim of this row made. */
export function attemptOfClaimed(registry: WorkflowRegistry, row: ClaimedRow): Attempt {
  const workflow = registry.get(row.handler)!;
  return new Attempt(
    workflow,
    workflow.definition.step(row.step_name)!,
    {
      id: row.id,
      workflowId: row.workflow_id,
      attempt: row.attempt,
      claimNo: row.claim_no,
      queue: row.queue,
      priority: row.priority,
    },
    {
      args: row.arguments,
      subject: row.subject_type === null ? null : { type: row.subject_type, id: row.subject_id! },
    },
  );
}
