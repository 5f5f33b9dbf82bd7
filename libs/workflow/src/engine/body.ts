import { runInStep } from '../observe/current-step.js';
import { deepFreeze, deserialize, deserializeNow, needsLoading } from '../model/payload.js';
import type { EntityManager } from 'typeorm';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import { LiveBatch } from './live-batch.js';
import { LiveContext } from './live-context.js';
import { isStepVerb } from './verb.js';

/** How the application's code ended: it returned, called a verb, or threw. */
export type BodyResult = { readonly threw: false } | { readonly threw: true; readonly error: unknown };

/** The attempt's context, its subject and arguments loaded afresh: through `manager` when a transaction is open. */
export async function contextOf(parts: EngineParts, attempt: Attempt, manager?: EntityManager): Promise<LiveContext> {
  const { args, subject } = attempt.input;
  const load = (reference: { type: string; id: string }) => parts.subjects.load(reference, manager);
  const [loadedArgs, loadedSubject] = await Promise.all([
    needsLoading(args) ? deserialize(args, { load }) : deserializeNow(args),
    subject ? load(subject) : null,
  ]);
  const context = new LiveContext(attempt, parts, loadedSubject, deepFreeze(loadedArgs));
  context.transactionManager = manager;
  return context;
}

/**
 * For the policies, when subject or arguments could not be loaded: whoever reads these meets that error again. A null subject
 * would say that the record is gone.
 */
export function contextWithoutData(parts: EngineParts, attempt: Attempt, error: unknown): LiveContext {
  const unread = {
    get: (): never => {
      throw error;
    },
  };
  return Object.defineProperties(new LiveContext(attempt, parts, null, null), { subject: unread, args: unread });
}

/** Calls the step's body. What it returns is ignored; what it throws is the result, unless a verb was called. */
export async function runBody(parts: EngineParts, attempt: Attempt, context: LiveContext): Promise<BodyResult> {
  context.enter('body');
  const { step, workflow } = attempt;
  // A new one each time: a transactional body may run again.
  attempt.batch = step.kind === 'fan_out' ? new LiveBatch(attempt, parts) : null;
  try {
    await inStep(attempt, () => step.body(workflow.instance, context, attempt.batch));
    return { threw: false };
  } catch (error) {
    return context.verb || isStepVerb(error) ? { threw: false } : { threw: true, error };
  } finally {
    attempt.batch?.close();
  }
}

/** Runs the application's code as the current step, so that `currentStep()` knows it. */
export function inStep<T>({ row, workflow, step }: Attempt, run: () => T): T {
  const current = {
    workflowId: row.workflowId,
    workflowName: workflow.definition.name,
    stepName: step.name,
    attempt: row.attempt,
  };
  return runInStep(current, run);
}
