import { badOption, type Place } from './definition-error.js';
import { parseDuration, type Duration } from './duration.js';
import { ALLOWED_NAMES, isName } from './name.js';
import { checkKeys, optionName } from './option-keys.js';

/**
 * Where and when a step's row is served. On the class they hold for every step; a step's keys override them one by one.
 *
 * @example
 * ```ts
 * @Workflow({ jobOptions: { queue: 'orders', priority: 5 } })
 * ```
 */
export interface JobOptions {
  /** Which workers serve it. Default: setting `queue`. */
  queue?: string;
  /** Its place among the due rows of the queue: smaller runs first. A whole number; default 0. */
  priority?: number;
  /** It runs no earlier than this long after it was scheduled. Only ever later than the step's `wait`, never added to it. */
  wait?: Duration;
  /** It runs no earlier than this moment. One in the past changes nothing. */
  waitUntil?: Date;
}

/** Checked: `wait` is in milliseconds. */
export interface ParsedJobOptions extends JobOptions {
  wait?: number;
}

/** What `batch.add` takes beside a member's arguments. What is absent comes from the handler's `@WorkflowJob`. */
export type FanOutJobOptions = Pick<JobOptions, 'queue' | 'priority' | 'wait'>;

const KEYS = ['queue', 'priority', 'wait', 'waitUntil'] as const satisfies readonly (keyof JobOptions)[];
const MEMBER_KEYS = ['queue', 'priority', 'wait'] as const satisfies readonly (keyof FanOutJobOptions)[];
/** Dates that PostgreSQL and JavaScript both can write. */
const EARLIEST = new Date(0);
const LATEST = new Date('9999-12-31T23:59:59.999Z');
const INT4 = { min: -2_147_483_648, max: 2_147_483_647 };

/** Checks `jobOptions` of a class or a step. */
export function checkJobOptions(value: unknown, place: Place): Readonly<ParsedJobOptions> {
  return parse(value === undefined ? {} : value, KEYS, place, 'jobOptions', 'jobOptions');
}

/** Checks what `batch.add` was given. */
export function checkFanOutJobOptions(value: unknown, place: Place): Readonly<ParsedJobOptions> {
  return parse(value === undefined ? {} : value, MEMBER_KEYS, place, 'options', 'a fan-out job');
}

/** The later options laid over the earlier ones, key by key. */
export function mergeJobOptions(...layers: readonly Readonly<ParsedJobOptions>[]): Readonly<ParsedJobOptions> {
  return Object.freeze(Object.assign({}, ...layers) as ParsedJobOptions);
}

export function checkQueue(value: unknown, place: Place, option: string): string {
  if (isName(value)) return value;
  throw badOption(place, option, value, ALLOWED_NAMES);
}

export function checkPriority(value: unknown, place: Place, option: string): number {
  if (Number.isInteger(value) && (value as number) >= INT4.min && (value as number) <= INT4.max) return value as number;
  throw badOption(place, option, value, `a whole number from ${INT4.min} to ${INT4.max}`);
}

function parse(
  value: unknown,
  keys: readonly (keyof JobOptions)[],
  place: Place,
  path: string,
  bearer: string,
): Readonly<ParsedJobOptions> {
  const { queue, priority, wait, waitUntil } = checkKeys(value, keys, { place, path, bearer });
  return Object.freeze({
    ...(queue !== undefined && { queue: checkQueue(queue, place, optionName(path, 'queue')) }),
    ...(priority !== undefined && { priority: checkPriority(priority, place, optionName(path, 'priority')) }),
    ...(wait !== undefined && { wait: checkWait(wait, place, optionName(path, 'wait')) }),
    ...(waitUntil !== undefined && { waitUntil: checkMoment(waitUntil, place, optionName(path, 'waitUntil')) }),
  });
}

function checkWait(value: unknown, place: Place, option: string): number {
  const parsed = parseDuration(value);
  if (typeof parsed === 'number') return parsed;
  throw badOption(place, option, value, parsed.problem);
}

function checkMoment(value: unknown, place: Place, option: string): Date {
  // A copy: a Date can be changed after the class was checked.
  if (value instanceof Date && value >= EARLIEST && value <= LATEST) return new Date(value);
  throw badOption(place, option, value, 'a valid Date between 1970 and 9999');
}
