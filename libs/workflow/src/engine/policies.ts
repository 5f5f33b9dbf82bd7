import { policyWait, resolvePolicy, type DeclaredPolicy, type HandlerPolicy } from '../definition/policy.js';
import { captureError } from '../model/error-record.js';
import { consecutiveReattempts } from '../store/attempts.js';
import { outcomeOf, type Outcome } from '../transition/outcomes.js';
import type { Attempt } from './attempt.js';
import { inStep } from './body.js';
import type { EngineParts } from './engine.parts.js';
import type { LiveContext } from './live-context.js';
import { patiently } from '../store/patience.js';
import { isStepVerb } from './verb.js';

/** What is to become of a failed attempt, and the error to report with it, when there is one to report. */
export interface PolicyOutcome {
  readonly outcome: Outcome;
  readonly report: { readonly error: unknown } | null;
}

/** Finds the policy for what was thrown and asks it. Never under the run's lock: a handler is the application's code. */
export async function outcomeOfError(
  parts: EngineParts,
  attempt: Attempt,
  context: LiveContext,
  error: unknown,
): Promise<PolicyOutcome> {
  const policy = resolvePolicy(attempt.workflow.definition, attempt.step, error);
  try {
    return policy.kind === 'handler'
      ? await byHandler(parts, attempt, context, policy, error)
      : await byDeclaration(parts, attempt, context, policy, error);
  } catch (failure) {
    return failed(parts, context, withCause(failure, error));
  }
}

async function byDeclaration(
  parts: EngineParts,
  attempt: Attempt,
  context: LiveContext,
  policy: DeclaredPolicy,
  error: unknown,
): Promise<PolicyOutcome> {
  const kept = { output: context.storedOutput, error: record(parts, error) };
  const report = (reattempted: boolean) =>
    policy.report === 'always' || (policy.report === 'terminal_only' && !reattempted) ? { error } : null;
  if (policy.action !== 'reattempt') return { outcome: outcomeOf(ENDED[policy.action], kept), report: report(false) };

  const { maxReattempts } = policy;
  const counts = maxReattempts !== null || typeof policy.wait === 'function';
  const before = counts ? await reattemptsBefore(parts, attempt, maxReattempts) : 0;
  if (maxReattempts !== null && before >= maxReattempts) {
    return { outcome: outcomeOf(ENDED[policy.terminalAction], kept), report: report(false) };
  }
  const place = { owner: attempt.workflow.definition.name, step: attempt.step.name };
  const wait = policyWait(policy, before + 1, place);
  return { outcome: outcomeOf('reattempted', { ...kept, wait }), report: report(true) };
}

const ENDED = { pause: 'paused', cancel: 'cancelled', skip: 'skipped' } as const;

/** A wait that grows is asked for the reattempt's number: beyond this it no longer matters. */
const MOST_COUNTED = 10_000;

function reattemptsBefore({ database }: EngineParts, attempt: Attempt, most: number | null): Promise<number> {
  const of = { workflowId: attempt.row.workflowId, stepName: attempt.step.name, attempt: attempt.row.attempt };
  return patiently(database, () =>
    database.engineConnect((connection) => consecutiveReattempts(connection, of, most ?? MOST_COUNTED)),
  );
}

/** An `@OnException` method: the verb it calls is the outcome, none is `pause`. */
async function byHandler(
  parts: EngineParts,
  attempt: Attempt,
  context: LiveContext,
  policy: HandlerPolicy,
  error: unknown,
): Promise<PolicyOutcome> {
  context.enter('policy');
  context.forgetVerb();
  const { instance } = attempt.workflow;
  try {
    const handler = (instance as Record<string, (error: unknown, context: LiveContext) => unknown>)[policy.method]!;
    await inStep(attempt, () => handler.call(instance, error, context));
  } catch (thrown) {
    if (!context.verb && !isStepVerb(thrown)) throw thrown;
  }
  const ending = context.verb ?? { kind: 'paused' as const, wait: 0 };
  const kept = { output: context.storedOutput, error: record(parts, error), wait: ending.wait };
  return { outcome: outcomeOf(ending.kind, kept), report: { error } };
}

function failed(parts: EngineParts, context: LiveContext, error: unknown): PolicyOutcome {
  const kept = { output: context.storedOutput, error: record(parts, error) };
  return { outcome: outcomeOf('paused', kept), report: { error } };
}

function record({ settings }: EngineParts, error: unknown) {
  return captureError(error, { backtraceLines: settings.errorBacktraceLines });
}

/** The policy's own failure, with the error it was asked about as its cause. */
function withCause(failure: unknown, error: unknown): unknown {
  if (failure === error) return failure;
  try {
    if (failure instanceof Error) {
      failure.cause ??= error;
      return failure;
    }
  } catch {
    // It is frozen, or throws when it is looked at.
  }
  const { class: kind, message } = captureError(failure, { backtraceLines: 0 });
  return new Error(`An exception policy threw ${kind}: ${message}`, { cause: error });
}
