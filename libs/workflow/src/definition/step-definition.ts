import { types } from 'node:util';
import type { Callable } from './callable.js';
import { hasMethod, type AnyClass } from './class-value.js';
import type { BatchFailureAction, StepDefinition, TimeoutAction } from './definition.js';
import { badOption, definitionError, type Place } from './definition-error.js';
import { allowedDurations, MORE_THAN_ZERO, parseDuration } from './duration.js';
import { checkJobOptions, mergeJobOptions, type ParsedJobOptions } from './job-options.js';
import { checkOneOf } from './option-keys.js';
import { checkPolicies } from './policy-options.js';
import { toMatcher } from './signal.js';
import type { NamedStep } from './step-order.js';

const TIMEOUT_ACTIONS: readonly TimeoutAction[] = ['pause', 'cancel', 'skip', 'run', 'notify'];
const BATCH_FAILURE_ACTIONS: readonly BatchFailureAction[] = ['pause', 'cancel', 'skip'];
const ALLOWED_CALLABLES = 'a function of the context, or the name of a method of the class';

/** What the class says for all of its steps. */
export interface StepSurroundings {
  readonly target: AnyClass;
  readonly jobOptions: Readonly<ParsedJobOptions>;
  readonly hasCancelGuards: boolean;
}

/** Checks a step's options and freezes what they come to. */
export function defineStep(step: NamedStep, { target, jobOptions, hasCancelGuards }: StepSurroundings): StepDefinition {
  const { name, kind, options, place } = step;
  const transactional = checkBoolean(options.transactional, place, 'transactional');
  const skipIf = options.skipIf === undefined ? null : checkCallable(options.skipIf, target, place, 'skipIf');
  const waitFor = options.waitFor === undefined ? null : toMatcher(options.waitFor, place);
  const isUnguarded = kind !== 'removed' && !skipIf && !hasCancelGuards;
  refuseIdleOptions(options, place);
  return Object.freeze({
    name,
    kind,
    body: bodyOf(step, target),
    wait: options.wait === undefined ? 0 : checkDuration(options.wait, 0, place, 'wait'),
    timeout: options.timeout === undefined ? null : checkDuration(options.timeout, MORE_THAN_ZERO, place, 'timeout'),
    skipIf,
    jobOptions: mergeJobOptions(jobOptions, checkJobOptions(options.jobOptions, place)),
    policies: Object.freeze([...checkPolicies(options.onException, place)]),
    waitFor,
    waitTimeout: checkWaitTimeout(options.waitTimeout, target, place),
    onTimeout: checkOneOf(options.onTimeout, TIMEOUT_ACTIONS, 'pause', place, 'onTimeout'),
    transactional,
    onBatchFailure: checkOneOf(options.onBatchFailure, BATCH_FAILURE_ACTIONS, 'pause', place, 'onBatchFailure'),
    plain: isUnguarded && !waitFor,
    gated: isUnguarded && waitFor !== null,
  });
}

/** A method is looked up when it is called, so that a plain override in a subclass runs. */
function bodyOf({ name, kind, body, place }: NamedStep, target: AnyClass): StepDefinition['body'] {
  if (kind === 'removed') {
    return () => {
      throw definitionError(place, 'a removed step has no body.');
    };
  }
  if (body) {
    refuseGenerator(body, place);
    return (instance, ...args) => body.apply(instance, args);
  }
  if (!hasMethod(target, name)) {
    throw definitionError(
      place,
      `there is no method "${name}" in the class, and no function was given; write one of them.`,
    );
  }
  refuseGenerator((target.prototype as Record<string, unknown>)[name], place);
  return (instance, ...args) => (instance as Record<string, (...args: unknown[]) => unknown>)[name]!(...args);
}

/** Calling a generator runs nothing of it: the step would complete without its body. */
function refuseGenerator(body: unknown, place: Place): void {
  if (!types.isGeneratorFunction(body)) return;
  throw definitionError(
    place,
    'its body is a generator (function*), which nobody would run; write a function or an async function.',
  );
}

/** An option that would do nothing is a mistake. */
function refuseIdleOptions({ waitFor, waitTimeout, onTimeout }: NamedStep['options'], place: Place): void {
  if (waitFor === undefined && waitTimeout !== undefined) {
    throw badOption(place, 'waitTimeout', waitTimeout, 'only together with "waitFor"');
  }
  if (waitFor === undefined && onTimeout !== undefined) {
    throw badOption(place, 'onTimeout', onTimeout, 'only together with "waitFor" and "waitTimeout"');
  }
  if (waitTimeout === undefined && onTimeout !== undefined) {
    throw badOption(place, 'onTimeout', onTimeout, 'only together with "waitTimeout"');
  }
}

function checkDuration(value: unknown, min: number, place: Place, option: string): number {
  const parsed = parseDuration(value, { min });
  if (typeof parsed === 'number') return parsed;
  throw badOption(place, option, value, parsed.problem);
}

/** Text that is no duration is a method's name: the two cannot be mistaken, a name never begins with a digit. */
function checkWaitTimeout(value: unknown, target: AnyClass, place: Place): StepDefinition['waitTimeout'] {
  if (value === undefined) return null;
  const parsed = parseDuration(value, { min: MORE_THAN_ZERO });
  if (typeof parsed === 'number') return parsed;
  if (isCallable(value, target)) return value;
  throw badOption(place, 'waitTimeout', value, `${allowedDurations(MORE_THAN_ZERO)}, ${ALLOWED_CALLABLES}`);
}

function checkCallable(value: unknown, target: AnyClass, place: Place, option: string): Callable {
  if (isCallable(value, target)) return value;
  throw badOption(place, option, value, ALLOWED_CALLABLES);
}

function isCallable(value: unknown, target: AnyClass): value is Callable {
  return typeof value === 'function' || (typeof value === 'string' && hasMethod(target, value));
}

function checkBoolean(value: unknown, place: Place, option: string): boolean {
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  throw badOption(place, option, value, ['true', 'false']);
}
