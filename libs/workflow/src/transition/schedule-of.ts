import type { StepDefinition, WorkflowDefinition } from '../definition/definition.js';
import type { Schedule } from '../store/schedule.js';

/** A row of the step as it follows the one before: its `wait` and its `jobOptions` hold it back. */
export function scheduleAfter(definition: WorkflowDefinition, step: StepDefinition, defaultQueue: string): Schedule {
  return {
    ...scheduleNow(definition, step, defaultQueue),
    wait: step.wait,
    holdBack: step.jobOptions.wait ?? 0,
  };
}

/** A further attempt, or one that a person asked for: due after `wait`; only `waitUntil` still holds it back. */
export function scheduleNow(
  definition: WorkflowDefinition,
  step: StepDefinition,
  defaultQueue: string,
  wait = 0,
): Schedule {
  return {
    step: step.name,
    handler: definition.name,
    queue: step.jobOptions.queue ?? defaultQueue,
    priority: step.jobOptions.priority ?? 0,
    wait,
    holdBack: 0,
    notBefore: step.jobOptions.waitUntil ?? null,
  };
}
