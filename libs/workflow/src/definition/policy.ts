import { backoffBefore, type ParsedBackoff } from './backoff.js';
import type { AnyClass } from './class-value.js';
import type { Place } from './definition-error.js';

export const POLICY_ACTIONS = ['pause', 'cancel', 'skip', 'reattempt'] as const;
/** What a failed attempt does to its run. */
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

export const POLICY_TERMINAL_ACTIONS = ['pause', 'cancel', 'skip'] as const;
/** What it does once its reattempts are spent. */
export type TerminalAction = (typeof POLICY_TERMINAL_ACTIONS)[number];

export const POLICY_REPORTS = ['always', 'never', 'terminal_only'] as const;
/** Which failures go to the error reporter. */
export type PolicyReport = (typeof POLICY_REPORTS)[number];

/** An error class (its subclasses match too), or the name of one, which then need not be loaded. */
export type ErrorMatch = AnyClass<any> | string;

interface Matching {
  /** Empty: blanket. */
  readonly matching: readonly ErrorMatch[];
}

/** A policy that says its action. Checked and frozen; durations in milliseconds. */
export interface DeclaredPolicy extends Matching {
  readonly kind: 'declared';
  readonly action: PolicyAction;
  readonly wait: ParsedBackoff;
  /** null: no bound. */
  readonly maxReattempts: number | null;
  readonly terminalAction: TerminalAction;
  readonly report: PolicyReport;
}

/** An `@OnException` method: the verb it calls is the outcome, none is `pause`. */
export interface HandlerPolicy extends Matching {
  readonly kind: 'handler';
  readonly method: string;
  readonly report: 'always';
}

export type ExceptionPolicy = DeclaredPolicy | HandlerPolicy;

/** Applies when no policy fits. */
export const DEFAULT_POLICY: DeclaredPolicy = Object.freeze({
  kind: 'declared',
  matching: [],
  action: 'pause',
  wait: 0,
  maxReattempts: null,
  terminalAction: 'pause',
  report: 'always',
});

/**
 * The policy for an error: the step's own, then the class's that name the error, then the class's blanket ones, then
 * `pause`. On the step, too, one that names the error goes before a blanket one; among equals the first declared wins.
 */
export function resolvePolicy(
  definition: { readonly policies: readonly ExceptionPolicy[] },
  step: { readonly policies: readonly ExceptionPolicy[] },
  error: unknown,
): ExceptionPolicy {
  return (
    step.policies.find((policy) => names(policy, error)) ??
    step.policies.find(isBlanket) ??
    definition.policies.find((policy) => names(policy, error)) ??
    definition.policies.find(isBlanket) ??
    DEFAULT_POLICY
  );
}

/**
 * Milliseconds before reattempt `number` (1, 2, …).
 *
 * @throws {WorkflowDefinitionError} when the policy's `wait` is a function and returned something else than a duration
 */
export function policyWait(policy: DeclaredPolicy, number: number, place: Place = { owner: 'A policy' }): number {
  return backoffBefore(number, policy.wait, place, 'onException.wait');
}

function isBlanket(policy: ExceptionPolicy): boolean {
  return policy.matching.length === 0;
}

function names(policy: ExceptionPolicy, error: unknown): boolean {
  return policy.matching.some((match) => isMatch(error, match));
}

/** Anything can be thrown, also what throws when it is looked at: that matches nothing. */
function isMatch(error: unknown, match: ErrorMatch): boolean {
  try {
    return typeof match === 'string' ? namesOf(error).has(match) : error instanceof match;
  } catch {
    return false;
  }
}

/** The error's own `name`, and the names of the classes along its prototype chain. What is no object has none. */
function namesOf(error: unknown): ReadonlySet<unknown> {
  const known = new Set<unknown>();
  if (typeof error !== 'object' || error === null) return known;
  known.add((error as { name?: unknown }).name);
  for (let link: unknown = Object.getPrototypeOf(error); link; link = Object.getPrototypeOf(link)) {
    known.add((link as { constructor?: { name?: unknown } }).constructor?.name);
  }
  return known;
}
