import type { StepDefinition } from '../definition/definition.js';
import type { LoadedWorkflow } from '../registry/workflow.registry.js';

/** A class and a step in one text: with the class's length, so that no two pairs look alike. */
export function stepKey(workflow: string, step: string): string {
  return `${Array.from(workflow).length}:${workflow}${step}`;
}

/** The same of a row `s` of the steps, as SQL. */
export const ROW_KEY = `char_length(s.handler) || ':' || s.handler || s.step_name`;

/** The keys of those steps of the classes that `which` picks. */
export function stepKeys(
  workflows: readonly LoadedWorkflow[],
  which: (step: StepDefinition) => boolean,
): readonly string[] {
  return workflows.flatMap(({ definition: { name, steps } }) =>
    steps.filter(which).map((step) => stepKey(name, step.name)),
  );
}
