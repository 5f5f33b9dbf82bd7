import type { Callable } from './callable.js';
import type { StepContext } from './context.js';
import type { BatchFailureAction, TimeoutAction } from './definition.js';
import type { Duration } from './duration.js';
import type { JobOptions } from './job-options.js';
import type { ExceptionPolicyOptions } from './policy-options.js';
import type { WaitFor } from './signal.js';

/** When a wait must be over: a moment, a duration from the park, or null for no deadline this time. */
export type Deadline = Date | { toDate(): Date } | { toJSDate(): Date } | Duration | null | undefined;

/** What every kind of step takes, a fan-out too. */
export interface CommonStepOptions {
  /** How long after the end of the step before (or the start of the run) it is due. Default 0. */
  wait?: Duration;
  /** Truthy: the step is skipped. A function of the context (`this` is the workflow) or a method's name. Asked on every claim. */
  skipIf?: Callable<StepContext>;
  /** Bounds the body, from its claim; more than 0. Default: setting `stallThreshold`. */
  timeout?: Duration;
  /** Laid over the class's, key by key. */
  jobOptions?: JobOptions;
  /** The step's own policies, asked before the class's: one or a list. */
  onException?: ExceptionPolicyOptions | readonly ExceptionPolicyOptions[];
  /** Puts the step directly before the named one. Not together with `after`. */
  before?: string;
  /** Puts the step directly after the named one. Not together with `before`. */
  after?: string;
  /** The body runs in one transaction (`ctx.manager`) that commits together with its outcome. Default false. */
  transactional?: boolean;
}

/**
 * Options of `@Step()` and `step()`. A callable is a function called with the context (`this` is the workflow), or the
 * name of a method of the class.
 *
 * @example
 * ```ts
 * @Step({ waitFor: PaymentConfirmed, waitTimeout: '2 days', onTimeout: 'cancel' })
 * async capture(ctx: Ctx<this, typeof PaymentConfirmed>) { … }
 * ```
 */
export interface StepOptions<Signal extends WaitFor | null = any> extends CommonStepOptions {
  /** The step runs once such a signal came; until then the run is `waiting`. */
  waitFor?: Signal;
  /**
   * The wait's deadline: a duration from the park (more than 0), or a callable asked at each park that returns a date, a
   * duration, or null for no deadline. Text is a duration if it can be one, else a method's name. Needs `waitFor`. Default: no deadline.
   */
  waitTimeout?: number | Callable<StepContext, Deadline | Promise<Deadline>>;
  /** What the deadline does: `pause` (default), `cancel`, `skip`, `run` or `notify`. Needs `waitTimeout`. */
  onTimeout?: TimeoutAction;
}

/**
 * Options of `@FanOut()` and `fanOut()`.
 *
 * @example
 * ```ts
 * @FanOut({ onBatchFailure: 'skip' })
 * async notifyVendors(ctx: Ctx<this>, batch: FanOutBatch) { … }
 * ```
 */
export interface FanOutOptions extends CommonStepOptions {
  /** What dead-lettered members do: `pause` (default), `cancel` or `skip`. */
  onBatchFailure?: BatchFailureAction;
}

const COMMON_KEYS = [
  'wait', 'skipIf', 'timeout', 'jobOptions', 'onException', 'before', 'after', 'transactional',
] as const; // prettier-ignore

export const STEP_KEYS = [
  ...COMMON_KEYS,
  'waitFor',
  'waitTimeout',
  'onTimeout',
] as const satisfies readonly (keyof StepOptions)[];

export const FAN_OUT_KEYS = [...COMMON_KEYS, 'onBatchFailure'] as const satisfies readonly (keyof FanOutOptions)[];
