import { StepDeclaration } from './declarations.js';
import { badOption, definitionError, shown, type Place } from './definition-error.js';
import type { Layer } from './layers.js';
import { ALLOWED_NAMES, isName } from './name.js';
import { checkKeys } from './option-keys.js';
import { FAN_OUT_KEYS, STEP_KEYS, type FanOutOptions, type StepOptions } from './step-options.js';

/** A step with its final name. The keys of its options are checked, their values are not. */
export interface NamedStep {
  readonly name: string;
  readonly kind: StepDeclaration['kind'];
  readonly body: StepDeclaration['body'];
  readonly options: Partial<Record<keyof StepOptions | keyof FanOutOptions, unknown>>;
  readonly place: Place;
}

/**
 * The steps of a chain of classes in the order in which they run.
 *
 * The farthest parent's come first. A class's steps are appended in declared order; one that names an inherited step
 * takes its place. Then `before` and `after` move steps: several at one spot keep their declared order.
 */
export function orderSteps(layers: readonly Layer[]): readonly NamedStep[] {
  let ordered: NamedStep[] = [];
  let anonymous = 0;
  for (const layer of layers) {
    const own: NamedStep[] = [];
    for (const [index, written] of layer.steps.entries()) {
      const step = nameStep(written, layer.place, index, () => `step_${++anonymous}`);
      if (own.some(({ name }) => name === step.name) || (isAnonymous(written) && find(ordered, step.name))) {
        throw definitionError(step.place, 'two steps have this name (a removed step keeps its own); rename one.');
      }
      own.push(step);
    }
    ordered = arrange(overlay(ordered, own), own);
  }
  return ordered;
}

function nameStep(written: unknown, place: Place, index: number, nextAnonymous: () => string): NamedStep {
  if (!(written instanceof StepDeclaration)) {
    throw badOption(place, 'steps', written, 'step(), fanOut() and removedStep()');
  }
  const { kind, body } = written;
  const name = isAnonymous(written) ? nextAnonymous() : written.name;
  if (!isName(name)) throw badOption(place, `name of step ${index + 1}`, name, ALLOWED_NAMES);
  const at: Place = { ...place, step: name };
  return { name, kind, body, place: at, options: optionsOf(written, at) };
}

function isAnonymous(written: unknown): boolean {
  return written instanceof StepDeclaration && written.kind === 'step' && written.name === undefined && !!written.body;
}

function optionsOf({ kind, options = {} }: StepDeclaration, place: Place): NamedStep['options'] {
  if (kind === 'step') return checkKeys(options, STEP_KEYS, { place, bearer: 'a step' });
  if (kind === 'fan_out') return checkKeys(options, FAN_OUT_KEYS, { place, bearer: 'a fan-out' });
  return {};
}

function overlay(inherited: readonly NamedStep[], own: readonly NamedStep[]): NamedStep[] {
  const kept = inherited.map((step) => find(own, step.name) ?? step);
  return [...kept, ...own.filter((step) => !find(inherited, step.name))];
}

/** Moves the class's own steps that say where they go. Each hangs on its target, so a chain of them moves together. */
function arrange(steps: readonly NamedStep[], own: readonly NamedStep[]): NamedStep[] {
  const before = new Map<string, NamedStep[]>();
  const after = new Map<string, NamedStep[]>();
  const moved = new Set<NamedStep>();
  for (const step of own) {
    const { before: next, after: previous } = step.options;
    if (next !== undefined && previous !== undefined) {
      throw definitionError(
        step.place,
        `"before" and "after" are both given (${shown(next)} and ${shown(previous)}); allowed: one of them.`,
      );
    }
    if (next !== undefined) hang(step, before, target(step, 'before', next, steps));
    else if (previous !== undefined) hang(step, after, target(step, 'after', previous, steps));
    else continue;
    moved.add(step);
  }
  const arranged: NamedStep[] = [];
  const place = (step: NamedStep): void => {
    before.get(step.name)?.forEach(place);
    arranged.push(step);
    after.get(step.name)?.forEach(place);
  };
  steps.filter((step) => !moved.has(step)).forEach(place);
  const lost = [...moved].find((step) => !arranged.includes(step));
  if (lost)
    throw definitionError(
      lost.place,
      '"before" and "after" of these steps go in a circle; let one step stand on its own.',
    );
  return arranged;
}

function hang(step: NamedStep, on: Map<string, NamedStep[]>, name: string): void {
  on.set(name, [...(on.get(name) ?? []), step]);
}

function target(step: NamedStep, option: 'before' | 'after', value: unknown, steps: readonly NamedStep[]): string {
  const others = steps.filter((other) => other !== step).map(({ name }) => name);
  if (typeof value === 'string' && others.includes(value)) return value;
  throw badOption(step.place, option, value, others.length ? others : 'the name of another step, and there is none');
}

function find(steps: readonly NamedStep[], name: string): NamedStep | undefined {
  return steps.find((step) => step.name === name);
}
