import type { StepDefinition } from '../definition/definition.js';
import type { EntityReference } from '../model/entity-reference.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';
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
