import { createHash } from 'node:crypto';
import { isClass, type AnyClass } from './class-value.js';
import type { StepDefinition, WorkflowDefinition } from './definition.js';
import { badOption, classLabel, definitionError, type Place } from './definition-error.js';
import { mergeJobOptions } from './job-options.js';
import { layersOf, type Layer, type WorkflowOptions } from './layers.js';
import { ALLOWED_NAMES, isName } from './name.js';
import type { ExceptionPolicy } from './policy.js';
import { defineStep } from './step-definition.js';
import { orderSteps } from './step-order.js';

/**
 * Merges what the class and its parents say into one frozen definition. Nothing of the parents is changed.
 *
 * @throws {WorkflowDefinitionError} for the first thing that cannot be right
 */
export function buildDefinition(target: AnyClass<object>): WorkflowDefinition {
  const place: Place = { owner: classLabel(target) };
  const layers = layersOf(target);
  const cancelGuards = [...new Set(layers.flatMap((layer) => layer.cancelGuards))];
  const jobOptions = mergeJobOptions(...layers.map((layer) => layer.jobOptions));
  const surroundings = { target, jobOptions, hasCancelGuards: cancelGuards.length > 0 };
  const steps = orderSteps(layers).map((step) => defineStep(step, surroundings));
  const [first] = steps.filter(isExecutable);
  if (!first) {
    throw definitionError(
      place,
      'a workflow needs at least one step to run; write a method with @Step() or pass steps: [step(…)].',
    );
  }
  return Object.freeze({
    name: nameOf(target, layers, place),
    target,
    steps: Object.freeze(steps),
    cancelGuards: Object.freeze(cancelGuards),
    policies: Object.freeze(mergePolicies(layers)),
    subject: nearest(layers, 'subject', "an entity's class, or a class with a @SubjectLoader"),
    args: nearest(layers, 'args', 'a class-validator DTO class') as WorkflowDefinition['args'],
    digest: digestOf(steps),
    first,
    ...lookups(steps),
  });
}

function nameOf(target: AnyClass, layers: readonly Layer[], place: Place): string {
  const { name = target.name } = layers.at(-1)!.options;
  if (!isName(name)) throw badOption(place, 'name', name, ALLOWED_NAMES);
  return name;
}

/** The class's before its parent's. A handler that a class decorates anew is declared there, not twice. */
function mergePolicies(layers: readonly Layer[]): ExceptionPolicy[] {
  const redeclared = new Set<string>();
  const merged: ExceptionPolicy[] = [];
  for (const { policies } of layers.toReversed()) {
    merged.push(...policies.filter((policy) => policy.kind !== 'handler' || !redeclared.has(policy.method)));
    for (const policy of policies) if (policy.kind === 'handler') redeclared.add(policy.method);
  }
  return merged;
}

/** The class given by the class itself, else by the nearest parent that gives one. */
function nearest(
  layers: readonly Layer[],
  option: keyof WorkflowOptions & ('subject' | 'args'),
  allowed: string,
): AnyClass | null {
  const layer = layers.findLast(({ options }) => options[option] !== undefined);
  if (!layer) return null;
  const value = layer.options[option];
  if (!isClass(value)) throw badOption(layer.place, option, value, allowed);
  return value;
}

/** Equal for equal lists in any process; different after adding, removing, renaming, reordering or burying a step. */
function digestOf(steps: readonly StepDefinition[]): string {
  const list = JSON.stringify(steps.map(({ name, kind }) => [name, kind]));
  return createHash('sha256').update(list).digest('hex');
}

function lookups(steps: readonly StepDefinition[]): Pick<WorkflowDefinition, 'step' | 'after'> {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const next = new Map(steps.map((step, index) => [step.name, steps.slice(index + 1).find(isExecutable) ?? null]));
  return { step: (name) => byName.get(name), after: (name) => next.get(name) };
}

function isExecutable(step: StepDefinition): boolean {
  return step.kind !== 'removed';
}
