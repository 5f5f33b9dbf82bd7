import type { WorkflowDefinition } from '../definition/definition.js';
import type { StepOutcome } from '../model/states.js';
import type { ErrorContext } from '../observe/error-reporter.js';
import type { RunAndRow } from '../store/run.js';

/** Of an attempt that ended without its body: on a deadline, a stall, a join, or because its class has changed. */
export function contextOfEnd(
  definition: WorkflowDefinition,
  { run, row }: RunAndRow,
  outcome: StepOutcome,
): ErrorContext {
  return {
    workflowClass: definition.name,
    workflowId: run.id,
    stepName: row.step_name,
    attempt: row.attempt,
    outcome,
  };
}
