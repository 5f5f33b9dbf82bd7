import { AsyncLocalStorage } from 'node:async_hooks';

/** The step whose body (or guard, or policy) the present code runs in. */
export interface CurrentStep {
  /** The run's id, a UUID. */
  readonly workflowId: string;
  /** The name of the run's class. */
  readonly workflowName: string;
  /** The step's name. */
  readonly stepName: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
}

const storage = new AsyncLocalStorage<CurrentStep>();

/**
 * The step the present code runs in, in everything that its body awaits; undefined outside a step.
 *
 * @example
 * ```ts
 * const step = currentStep();
 * logger.log(message, step && { workflow: step.workflowId, step: step.stepName, attempt: step.attempt });
 * ```
 */
export function currentStep(): CurrentStep | undefined {
  return storage.getStore();
}

/** @internal */
export function runInStep<T>(step: CurrentStep, run: () => T): T {
  return storage.run(step, run);
}
