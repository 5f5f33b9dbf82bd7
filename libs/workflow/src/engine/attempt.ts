import type { StepDefinition } from '../definition/definition.js';
import type { EntityReference } from '../model/entity-reference.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';

/** One attempt that this process holds: its row is in progress under our claim. */
export class Attempt {
  /** Its place in a run that goes on in place: 1 for an attempt that was claimed by itself. */
  chain = 1;
  private controller: AbortController | undefined;
  private abortReason: unknown;
  private aborted = false;

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
  ) {}

  /** As errors name it. */
  get label(): string {
    return `${this.workflow.definition.name}, step "${this.step.name}"`;
  }

  get abortSignal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  /** Asks the body to stop. The first reason stays. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }
}
