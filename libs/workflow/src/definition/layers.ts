import type { AnyClass } from './class-value.js';
import { declarationsOf, type ClassDeclarations, type StepDeclaration } from './declarations.js';
import { badOption, classLabel, type Place } from './definition-error.js';
import { checkJobOptions, type JobOptions, type ParsedJobOptions } from './job-options.js';
import { checkKeys } from './option-keys.js';
import { checkPolicies, handlerPolicy, type ExceptionPolicyOptions } from './policy-options.js';
import type { ExceptionPolicy } from './policy.js';

/**
 * Options of `@Workflow()`.
 *
 * @example
 * ```ts
 * @Workflow({ name: 'OrderWorkflow', subject: Order, onException: { action: 'cancel' } })
 * ```
 */
export interface WorkflowOptions {
  /** What the tables store. Default: the class's name. Renaming it strands runs under way. Not inherited. */
  name?: string;
  /** The type of its subjects: an entity of the DataSource, or a type with a `@SubjectLoader` provider. Default: the parent's. */
  subject?: AnyClass;
  /** A class-validator DTO: arguments of `start` that fail it are refused. Default: the parent's. */
  args?: new () => object;
  /** Policies for every step: one or a list. */
  onException?: ExceptionPolicyOptions | readonly ExceptionPolicyOptions[];
  /** For every step; a step's keys override them one by one. */
  jobOptions?: JobOptions;
  /** Steps written as values: `step`, `fanOut`, `removedStep`. They follow the decorated members. */
  steps?: readonly StepDeclaration[];
}

const KEYS = [
  'name', 'subject', 'args', 'onException', 'jobOptions', 'steps',
] as const satisfies readonly (keyof WorkflowOptions)[]; // prettier-ignore

/** What one class of the chain of parents adds. */
export interface Layer {
  readonly place: Place;
  /** Decorated members in document order, then `steps`. Members of the list are not checked yet. */
  readonly steps: readonly unknown[];
  readonly cancelGuards: readonly string[];
  /** Those of `onException`, then the `@OnException` methods. */
  readonly policies: readonly ExceptionPolicy[];
  readonly jobOptions: Readonly<ParsedJobOptions>;
  readonly options: Partial<Record<keyof WorkflowOptions, unknown>>;
}

/** The class's parents, the farthest first, and the class itself. A base class counts without `@Workflow()` too. */
export function layersOf(target: AnyClass): Layer[] {
  const layers: Layer[] = [];
  for (let link: unknown = target; typeof link === 'function'; link = Object.getPrototypeOf(link)) {
    const own = declarationsOf(link);
    if (own) layers.unshift(layerOf(link, own));
  }
  return layers;
}

function layerOf(target: { readonly name: string }, own: ClassDeclarations): Layer {
  const place: Place = { owner: classLabel(target) };
  const options = checkKeys(own.options === undefined ? {} : own.options, KEYS, { place, bearer: 'a workflow' });
  const { steps = [] } = options;
  if (!Array.isArray(steps)) throw badOption(place, 'steps', steps, 'a list of step(), fanOut() and removedStep()');
  return {
    place,
    options,
    steps: [...own.steps, ...(steps as unknown[])],
    cancelGuards: own.cancelGuards,
    policies: [
      ...checkPolicies(options.onException, place),
      ...own.handlers.map(({ matching, method }) => handlerPolicy(matching, method, place)),
    ],
    jobOptions: checkJobOptions(options.jobOptions, place),
  };
}
