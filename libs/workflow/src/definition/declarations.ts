import type { AnyClass } from './class-value.js';
import type { StepDefinition, WorkflowDefinition } from './definition.js';
import type { JobDefinition } from './job.js';
import type { SubjectLoaderDefinition } from './subject-loader.js';

/**
 * A step as it was written, before anything is checked: checks wait for `@Workflow`, which knows the class's name. A
 * class, so that `steps: [...]` can tell one from a look-alike.
 */
export class StepDeclaration {
  constructor(
    readonly kind: StepDefinition['kind'],
    /** undefined: anonymous. */
    readonly name: unknown,
    /** undefined: the method of that name. */
    readonly body: ((this: any, ...args: any[]) => unknown) | undefined,
    readonly options: unknown,
  ) {}
}

/** What decorators saw on one class, its parents not included, in the order in which its members stand. */
export interface ClassDeclarations {
  readonly steps: StepDeclaration[];
  /** Names of methods. */
  readonly cancelGuards: string[];
  readonly handlers: { readonly method: string; readonly matching: unknown }[];
  /** What `@Workflow` was given; undefined: the class has none (yet). */
  options?: unknown;
}

const declarations = new WeakMap<object, ClassDeclarations>();
const definitions = new WeakMap<object, WorkflowDefinition>();
const jobs = new WeakMap<object, JobDefinition>();
const loaders = new WeakMap<object, SubjectLoaderDefinition>();

/** Where a decorator writes down what it saw. */
export function declarationsFor(target: object): ClassDeclarations {
  const own = declarations.get(target) ?? { steps: [], cancelGuards: [], handlers: [] };
  declarations.set(target, own);
  return own;
}

/** What decorators saw on this very class. */
export function declarationsOf(target: object): ClassDeclarations | undefined {
  return declarations.get(target);
}

/** Whether this very class has a step, guard or handler decorator, with `@Workflow()` or (a mistake, or a base class) without. */
export function hasStepDeclarations(target: unknown): boolean {
  return declarations.has(target as object);
}

export function define(target: AnyClass, definition: WorkflowDefinition): void {
  definitions.set(target, definition);
}

/** What the class says, if this very class has `@Workflow()`: a parent's is not its own. */
export function definitionOf(target: unknown): WorkflowDefinition | undefined {
  return definitions.get(target as object);
}

export function defineJob(target: AnyClass, job: JobDefinition): void {
  jobs.set(target, job);
}

/** What `@WorkflowJob()` on this very class says. */
export function jobOf(target: unknown): JobDefinition | undefined {
  return jobs.get(target as object);
}

export function defineSubjectLoader(target: AnyClass, loader: SubjectLoaderDefinition): void {
  loaders.set(target, loader);
}

/** What `@SubjectLoader()` on this very class says. */
export function subjectLoaderOf(target: unknown): SubjectLoaderDefinition | undefined {
  return loaders.get(target as object);
}
