import { isClass, type AnyClass } from './class-value.js';
import type { FanOutBatch, JobHandler, StepContext } from './context.js';
import { StepDeclaration, declarationsFor, define, defineJob, defineSubjectLoader } from './declarations.js';
import { buildDefinition } from './definition.builder.js';
import { definitionError } from './definition-error.js';
import { buildJob, type WorkflowJobOptions } from './job.js';
import type { WorkflowOptions } from './layers.js';
import { memberOf, methodOf, refuseBareUse, refuseStandardDecorator } from './member.js';
import type { WaitFor } from './signal.js';
import type { FanOutOptions, StepOptions } from './step-options.js';
import { buildSubjectLoader, type LoadsSubject } from './subject-loader.js';

/** A decorator of methods of this shape. */
export type MethodDecoratorOf<Method> = <T extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<T>,
) => void;

/**
 * Makes a provider a workflow. The whole class is checked here, parents included.
 *
 * @param options what the class says of all its steps
 * @throws {WorkflowDefinitionError} as the class loads, naming class, step, option, value and what is allowed
 * @example
 * ```ts
 * @Workflow({ subject: Order, jobOptions: { queue: 'orders' } })
 * export class OrderWorkflow extends WorkflowOf<Order, { plan: string }> { … }
 * ```
 */
export function Workflow(options: WorkflowOptions = {}): (target: AnyClass) => void {
  return classDecorator('Workflow', options, (target) => {
    declarationsFor(target).options = options;
    define(target, buildDefinition(target as AnyClass<object>));
  });
}

/**
 * A step: the method is its body. Steps run in the order in which they stand in the class.
 *
 * A `waitFor` that carries the type of its payload (`defineSignal`, `matcher`) is held to the method's `Ctx<this, typeof Signal>`;
 * a bare name is not.
 *
 * @param options when and how the step runs
 * @example
 * ```ts
 * @Step({ wait: '7 days', skipIf: 'alreadyReviewed' })
 * async askForReview(ctx: Ctx<this>) { … }
 * ```
 */
export function Step<Signal extends WaitFor | null = null>(
  options: StepOptions<Signal> = {},
): MethodDecoratorOf<(ctx: StepContext<any, any, Signal extends string ? any : Signal>, ...rest: never[]) => unknown> {
  refuseBareUse('Step', [...arguments]);
  return (target, key, descriptor) => {
    const method = methodOf('Step', target, key, descriptor);
    declarationsFor(method.target).steps.push(new StepDeclaration('step', method.name, undefined, options));
  };
}

/**
 * A step that hands work to many jobs and waits for all of them. The method adds the jobs to `batch`.
 *
 * After a `cancel` of the run, or a `skip` of the step, jobs not yet run still run: one that should not asks
 * `await job.runStatus()`.
 *
 * @param options when and how it runs, and what its members' failures come to
 * @example
 * ```ts
 * @FanOut({ onBatchFailure: 'pause' })
 * async notifyVendors(ctx: Ctx<this>, batch: FanOutBatch) {
 *   for (const vendor of await this.vendors.of(ctx.requireSubject())) batch.add(NotifyVendor, { vendorId: vendor.id });
 * }
 * ```
 */
export function FanOut(
  options: FanOutOptions = {},
): MethodDecoratorOf<(ctx: StepContext<any, any, null>, batch: FanOutBatch, ...rest: never[]) => unknown> {
  refuseBareUse('FanOut', [...arguments]);
  return (target, key, descriptor) => {
    const method = methodOf('FanOut', target, key, descriptor);
    declarationsFor(method.target).steps.push(new StepDeclaration('fan_out', method.name, undefined, options));
  };
}

/**
 * A gravestone, where a step used to be: runs still on it pass over it, new runs never meet it.
 *
 * @param none there are no options
 * @example
 * ```ts
 * @RemovedStep() reminder?: never;
 * ```
 */
export function RemovedStep(...none: []): (target: object, key: string | symbol) => void {
  refuseBareUse('RemovedStep', none);
  return (target, key) => {
    const member = memberOf('RemovedStep', target, key);
    declarationsFor(member.target).steps.push(new StepDeclaration('removed', member.name, undefined, undefined));
  };
}

/**
 * Asked before every step, under the run's lock; truthy ends the run as cancelled. Several are asked in the order in which
 * they stand, a parent's first.
 *
 * @param none there are no options
 * @example
 * ```ts
 * @CancelIf()
 * gone({ subject }: Ctx<this>) { return subject === null || subject.closed; }
 * ```
 */
export function CancelIf(...none: []): MethodDecoratorOf<(ctx: StepContext, ...rest: never[]) => unknown> {
  refuseBareUse('CancelIf', none);
  return (target, key, descriptor) => {
    const method = methodOf('CancelIf', target, key, descriptor);
    declarationsFor(method.target).cancelGuards.push(method.name);
  };
}

/**
 * Handles a step's error: the verb it calls is the outcome; if it calls none, the run pauses. It ranks as a policy of the
 * class, after those of `@Workflow({ onException })`; without a class it is a blanket one.
 *
 * @param matching an error class, a class's name, or a list of these
 * @example
 * ```ts
 * @OnException(TimeoutError)
 * timedOut(error: TimeoutError, ctx: Ctx<this>) { ctx.reattempt({ wait: '5s' }); }
 * ```
 */
export function OnException<E extends AnyClass<any>>(
  matching: E | readonly E[],
): MethodDecoratorOf<(error: InstanceType<E>, ctx: StepContext, ...rest: never[]) => unknown>;
export function OnException(
  matching?: string | readonly (string | AnyClass<any>)[],
): MethodDecoratorOf<(error: any, ctx: StepContext, ...rest: never[]) => unknown>;
export function OnException(matching?: unknown): MethodDecoratorOf<(...args: any[]) => unknown> {
  if (arguments.length > 1) refuseBareUse('OnException', [...arguments]);
  return (target, key, descriptor) => {
    const method = methodOf('OnException', target, key, descriptor);
    declarationsFor(method.target).handlers.push({ method: method.name, matching });
  };
}

/**
 * Makes a provider a handler of fan-out jobs.
 *
 * @param options queue, tries and pauses of its members
 * @throws {WorkflowDefinitionError} for an option that cannot be right, or a class without `perform`
 * @example
 * ```ts
 * @WorkflowJob({ queue: 'mail', maxAttempts: 5, backoff: '10s' })
 * export class NotifyVendor implements JobHandler<{ vendorId: string }> {
 *   async perform(args: { vendorId: string }, job: JobContext) { … }
 * }
 * ```
 */
export function WorkflowJob(options: WorkflowJobOptions = {}): (target: AnyClass<JobHandler>) => void {
  return classDecorator('WorkflowJob', options, (target) =>
    defineJob(target, buildJob(target as AnyClass<JobHandler>, options)),
  );
}

/**
 * Makes a provider load the subjects of a type that is no entity of the DataSource.
 *
 * @param type the class of the subjects
 * @throws {WorkflowDefinitionError} for a type that is no class, or a class without `load`
 * @example
 * ```ts
 * @SubjectLoader(Customer)
 * export class CustomerLoader implements LoadsSubject<Customer> {
 *   load(id: string) { return this.crm.customer(id); }
 * }
 * ```
 */
export function SubjectLoader<Subject>(type: AnyClass<Subject>): (target: AnyClass<LoadsSubject<Subject>>) => void {
  return classDecorator('SubjectLoader', undefined, (target) =>
    defineSubjectLoader(target, buildSubjectLoader(target, type)),
  );
}

function classDecorator(name: string, options: unknown, apply: (target: AnyClass) => void) {
  // Without parentheses the decorator is handed the class itself.
  if (typeof options === 'function') refuseBareUse(name, [options]);
  return (target: AnyClass, context?: unknown): void => {
    refuseStandardDecorator(name, target, context);
    if (!isClass(target)) throw definitionError({ owner: `@${name}()` }, 'it stands on a member; put it on the class.');
    apply(target);
  };
}
