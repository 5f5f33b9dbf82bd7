import type { StepOutcome } from '../model/states.js';

/** What a verb in a body asks for. */
export interface Ending {
  readonly kind: Exclude<StepOutcome, 'completed'>;
  /** Milliseconds until the next attempt, for `reattempted`. */
  readonly wait: number;
}

/**
 * Thrown by a context's verb, to end the body where it stands. It is no error of the application's: nothing records or
 * reports it, and a body whose `catch` swallows it ends as the verb said all the same.
 */
export class StepVerb extends Error {
  constructor(readonly ending: Ending) {
    super(`The step ended as ${ending.kind}: this is how a verb of the step's context ends its body. Let it pass.`);
    this.name = 'StepVerb';
  }
}

/** Anything can be thrown, also what throws when it is looked at: that is no verb. */
export function isStepVerb(thrown: unknown): boolean {
  try {
    return thrown instanceof StepVerb;
  } catch {
    return false;
  }
}
