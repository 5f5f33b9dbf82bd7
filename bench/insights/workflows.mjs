// @ts-check
import { step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';

export const CLASSES = 20;
export const STEPS = ['validate', 'charge', 'pack', 'ship', 'notify'];

/** @param {number} number from 1 */
export const className = (number) => `Flow${String(number).padStart(2, '0')}`;

const nothing = async () => {};

/** Twenty classes that differ by their names. */
export const FLOWS = Array.from({ length: CLASSES }, (_, place) => {
  class Flow extends WorkflowOf {}
  Workflow({ name: className(place + 1), steps: STEPS.map((name) => step(name, nothing)) })(Flow);
  return Flow;
});
