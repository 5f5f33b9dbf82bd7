import { backoffBefore, checkBackoff, type Backoff, type ParsedBackoff } from './backoff.js';
import { hasMethod, type AnyClass } from './class-value.js';
import type { JobHandler } from './context.js';
import { badOption, classLabel, definitionError, type Place } from './definition-error.js';
import { checkPriority, checkQueue } from './job-options.js';
import { ALLOWED_NAMES, isName } from './name.js';
import { checkKeys } from './option-keys.js';

/**
 * Options of `@WorkflowJob()`.
 *
 * @example
 * ```ts
 * @WorkflowJob({ queue: 'mail', maxAttempts: 5, backoff: '10s' })
 * export class NotifyVendor implements JobHandler<{ vendorId: string }> { … }
 * ```
 */
export interface WorkflowJobOptions {
  /** What the tables store. Default: the class's name. Renaming it strands members under way. */
  name?: string;
  /** Which workers serve it. Default: setting `queue`. */
  queue?: string;
  /** Smaller runs first. A whole number; default 0. */
  priority?: number;
  /** Tries before the member is dead-lettered: a whole number from 1. Default 3. */
  maxAttempts?: number;
  /** Before each further try: a duration, or a function of the number of tries so far (1, 2, …). Default 10 seconds. */
  backoff?: Backoff;
}

/** One a class with `@WorkflowJob()`, checked and frozen. */
export interface JobDefinition {
  readonly name: string;
  readonly target: AnyClass<JobHandler>;
  /** null: setting `queue`. */
  readonly queue: string | null;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly backoff: ParsedBackoff;
}

const KEYS = [
  'name', 'queue', 'priority', 'maxAttempts', 'backoff',
] as const satisfies readonly (keyof WorkflowJobOptions)[]; // prettier-ignore

const DEFAULTS = { maxAttempts: 3, backoff: 10_000 };

export function buildJob(target: AnyClass<JobHandler>, options: unknown): JobDefinition {
  const place: Place = { owner: classLabel(target) };
  const given = checkKeys(options, KEYS, { place, bearer: 'a workflow job' });
  if (!hasMethod(target, 'perform')) {
    throw definitionError(place, '@WorkflowJob() needs a method perform(args, job); write one.');
  }
  const name = given.name === undefined ? target.name : given.name;
  if (!isName(name)) throw badOption(place, 'name', name, ALLOWED_NAMES);
  return Object.freeze({
    name,
    target,
    queue: given.queue === undefined ? null : checkQueue(given.queue, place, 'queue'),
    priority: given.priority === undefined ? 0 : checkPriority(given.priority, place, 'priority'),
    maxAttempts: given.maxAttempts === undefined ? DEFAULTS.maxAttempts : checkMaxAttempts(given.maxAttempts, place),
    backoff: checkBackoff(given.backoff, DEFAULTS.backoff, place, 'backoff'),
  });
}

/**
 * Milliseconds before the next try, after `attempts` tries.
 *
 * @throws {WorkflowDefinitionError} when `backoff` is a function and returned something else than a duration
 */
export function jobBackoff(job: JobDefinition, attempts: number): number {
  return backoffBefore(attempts, job.backoff, { owner: classLabel(job.target) }, 'backoff');
}

function checkMaxAttempts(value: unknown, place: Place): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw badOption(place, 'maxAttempts', value, 'a whole number of 1 or more');
}
