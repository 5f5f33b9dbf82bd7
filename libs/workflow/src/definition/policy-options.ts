import { checkBackoff, type Backoff } from './backoff.js';
import { isClass } from './class-value.js';
import { badOption, type Place } from './definition-error.js';
import { isName } from './name.js';
import { checkKeys, checkOneOf, optionName } from './option-keys.js';
import {
  POLICY_ACTIONS,
  POLICY_REPORTS,
  POLICY_TERMINAL_ACTIONS,
  type DeclaredPolicy,
  type ErrorMatch,
  type HandlerPolicy,
  type PolicyAction,
  type PolicyReport,
  type TerminalAction,
} from './policy.js';

/**
 * What to do when a step fails. On a step, or on the class for all steps.
 *
 * @example
 * ```ts
 * onException: [
 *   { matching: GatewayTimeout, action: 'reattempt', wait: '30s', maxReattempts: 5, terminalAction: 'cancel' },
 *   { matching: ['CardDeclined'], action: 'cancel', report: 'never' },
 *   { action: 'pause' },
 * ]
 * ```
 */
export interface ExceptionPolicyOptions {
  /** The errors it is for: a class, a class's name, or a list of these. Default: every error that no other policy names. */
  matching?: ErrorMatch | readonly ErrorMatch[];
  /** `pause`, `cancel`, `skip` (the step; the run goes on) or `reattempt`. */
  action: PolicyAction;
  /** Before a reattempt: a duration, or a function of the reattempt's number (1, 2, …). Default: at once. */
  wait?: Backoff;
  /** Reattempts in a row before `terminalAction`: a whole number from 1. Default: no bound. */
  maxReattempts?: number;
  /** `pause` (default), `cancel` or `skip`. */
  terminalAction?: TerminalAction;
  /** `always` (default), `never`, or `terminal_only`: not for an attempt that is followed by a reattempt. */
  report?: PolicyReport;
}

const KEYS = [
  'matching', 'action', 'wait', 'maxReattempts', 'terminalAction', 'report',
] as const satisfies readonly (keyof ExceptionPolicyOptions)[]; // prettier-ignore

/** Checks `onException` of a class or a step: one policy or a list. */
export function checkPolicies(value: unknown, place: Place): readonly DeclaredPolicy[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [checkPolicy(value, place, 'onException')];
  return value.map((policy: unknown, index) => checkPolicy(policy, place, `onException[${index}]`));
}

/** An `@OnException` method as a policy. */
export function handlerPolicy(matching: unknown, method: string, place: Place): HandlerPolicy {
  const path = `@OnException on "${method}"`;
  return Object.freeze({ kind: 'handler', matching: checkMatching(matching, place, path), method, report: 'always' });
}

function checkPolicy(value: unknown, place: Place, path: string): DeclaredPolicy {
  const given = checkKeys(value, KEYS, { place, path, bearer: 'a policy' });
  const option = (key: (typeof KEYS)[number]) => optionName(path, key);
  // No default: a policy that does not say what to do is a mistake.
  if (given.action === undefined) throw badOption(place, option('action'), undefined, POLICY_ACTIONS);
  return Object.freeze({
    kind: 'declared',
    matching: checkMatching(given.matching, place, option('matching')),
    action: checkOneOf(given.action, POLICY_ACTIONS, 'pause', place, option('action')),
    wait: checkBackoff(given.wait, 0, place, option('wait')),
    maxReattempts: checkMaxReattempts(given.maxReattempts, place, option('maxReattempts')),
    terminalAction: checkOneOf(given.terminalAction, POLICY_TERMINAL_ACTIONS, 'pause', place, option('terminalAction')),
    report: checkOneOf(given.report, POLICY_REPORTS, 'always', place, option('report')),
  });
}

function checkMatching(value: unknown, place: Place, option: string): readonly ErrorMatch[] {
  if (value === undefined) return Object.freeze([]);
  const list: unknown[] = Array.isArray(value) ? [...value] : [value];
  // An empty list would fit nothing by its words, and everything by what a blanket policy is.
  if (list.length === 0 || !list.every((one) => isClass(one) || isName(one))) {
    throw badOption(place, option, value, "an error class, a class's name, or a list of these with at least one");
  }
  return Object.freeze(list as ErrorMatch[]);
}

function checkMaxReattempts(value: unknown, place: Place, option: string): number | null {
  if (value === undefined) return null;
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw badOption(place, option, value, 'a whole number of 1 or more');
}
