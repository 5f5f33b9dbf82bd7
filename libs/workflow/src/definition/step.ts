import type { FanOutBatch, StepContext } from './context.js';
import { StepDeclaration } from './declarations.js';
import { definitionError, shown } from './definition-error.js';
import type { FanOutOptions, StepOptions } from './step-options.js';
import type { WaitFor } from './signal.js';

/** A step's body as a function; `this` is the workflow. */
export type StepBody<Subject = any, Args = any, Signal = null> = (
  this: any,
  ctx: StepContext<Subject, Args, Signal>,
) => unknown;

/** A fan-out's body as a function; `this` is the workflow. */
export type FanOutBody<Subject = any, Args = any> = (
  this: any,
  ctx: StepContext<Subject, Args, null>,
  batch: FanOutBatch,
) => unknown;

/**
 * A step for `@Workflow({ steps: [...] })`. Types of subject, arguments and signal are given where they are wanted.
 *
 * Options are checked with the class: `WorkflowDefinitionError` names class, step and option.
 *
 * @param name what the tables store; renaming it strands runs under way
 * @param body what the step does; `this` is the workflow
 * @param options when and how it runs
 * @example
 * ```ts
 * steps: [
 *   step<User>('welcome', async (ctx) => mailer.welcome(ctx.requireSubject())),
 *   step(async (ctx) => { … }),                       // step_1
 *   step('remind', { wait: '2 days' }),               // runs the method `remind`
 *   step<User, Args, typeof Paid>('capture', async (ctx) => { … }, { waitFor: Paid }),
 * ]
 * ```
 */
export function step<Subject = any, Args = any, Signal extends WaitFor | null = null>(
  name: string,
  body: StepBody<Subject, Args, Signal>,
  options?: StepOptions<Signal>,
): StepDeclaration;
/**
 * An anonymous step: `step_1`, `step_2`, … counting anonymous steps only.
 *
 * @param body what the step does; `this` is the workflow
 * @param options when and how it runs
 */
export function step<Subject = any, Args = any, Signal extends WaitFor | null = null>(
  body: StepBody<Subject, Args, Signal>,
  options?: StepOptions<Signal>,
): StepDeclaration;
/**
 * A step that runs the method of that name.
 *
 * @param name the method's, and what the tables store
 * @param options when and how it runs
 */
export function step(name: string, options?: StepOptions): StepDeclaration;
export function step(...args: unknown[]): StepDeclaration {
  if (typeof args[0] === 'function') return declared('step', undefined, args);
  return declared('step', args[0], args.slice(1));
}

/**
 * A fan-out for `@Workflow({ steps: [...] })`; without a function it runs the method of that name.
 *
 * @param name what the tables store; renaming it strands runs under way
 * @param body adds the members to its batch; `this` is the workflow
 * @param options when and how it runs, and what its members' failures come to
 * @example
 * ```ts
 * fanOut('notify', (ctx, batch) => batch.add(NotifyVendor, { vendorId }), { onBatchFailure: 'skip' })
 * ```
 */
export function fanOut<Subject = any, Args = any>(
  name: string,
  body: FanOutBody<Subject, Args>,
  options?: FanOutOptions,
): StepDeclaration;
export function fanOut(name: string, options?: FanOutOptions): StepDeclaration;
export function fanOut(name: unknown, ...rest: unknown[]): StepDeclaration {
  return declared('fan_out', name, rest);
}

/**
 * A gravestone, where a step used to be: runs still on it pass over it, new runs never meet it.
 *
 * @param name the one it had
 * @example
 * ```ts
 * steps: [step('welcome', …), removedStep('reminder'), step('survey', …)]
 * ```
 */
export function removedStep(name: string): StepDeclaration {
  return new StepDeclaration('removed', name, undefined, undefined);
}

function declared(kind: 'step' | 'fan_out', name: unknown, [first, second]: unknown[]): StepDeclaration {
  if (typeof first === 'function') return new StepDeclaration(kind, name, first as StepBody, second);
  if (second !== undefined) {
    const called = kind === 'step' ? 'step' : 'fanOut';
    throw definitionError(
      { owner: `${called}(${shown(name)}, …)` },
      `the body is ${shown(first)}; allowed: a function, with the options after it, or the options alone.`,
    );
  }
  return new StepDeclaration(kind, name, undefined, first);
}
