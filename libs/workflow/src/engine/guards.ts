import { call } from '../definition/callable.js';
import type { WaitDeadline } from '../definition/wait-timeout.js';
import { StepTimedOutError } from '../errors.js';
import type { RunAndRow } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import type { Attempt } from './attempt.js';
import { contextOf } from './body.js';
import type { EngineParts } from './engine.parts.js';
import { deadlineOf, Gate } from './gate.js';
import type { LiveContext } from './live-context.js';
import { askUnderLock, GUARDS, tookTooLong } from './under-lock.js';

/** What guards and gate decided; null: the body is to run. */
export type Verdict = 'cancelled' | 'skipped' | { readonly deadline: WaitDeadline | null } | null;

/** A guard's failure on its way out of the transaction that is to be rolled back. */
export class GuardFailed extends Error {
  constructor(
    readonly attempt: Attempt,
    readonly context: LiveContext | null,
    readonly thrown: unknown,
  ) {
    super('a guard failed');
  }
}

/** Whose guards are being asked, and since when. */
export interface Asking {
  since: number;
  attempt: Attempt | null;
}

/** Synchronous code held on for so long that the server ended the transaction over it: no cut connection, a time-out. */
export function cutOff({ since, attempt }: Asking, guardTimeout: number): GuardFailed | null {
  if (!attempt || performance.now() - since < guardTimeout) return null;
  return new GuardFailed(attempt, null, tookTooLong(attempt, GUARDS, guardTimeout));
}

/** Cancel guards first, then `skipIf`, then the gate, in the transaction that holds the run's lock and within `guardTimeout`. */
export async function askGuards(
  parts: EngineParts,
  transaction: Transaction,
  { run, row }: RunAndRow,
  attempt: Attempt,
): Promise<{ verdict: Verdict; context: LiveContext | null }> {
  const { workflow, step } = attempt;
  const { cancelGuards } = workflow.definition;
  if (!cancelGuards.length && step.skipIf === null && step.waitFor === null) return { verdict: null, context: null };
  const { connection } = transaction;
  let context: LiveContext | null = null;
  const ask = async (): Promise<Verdict> => {
    if (step.waitFor) attempt.gate = await Gate.open(parts, connection, run, row, step.waitFor);
    context = await contextOf(parts, attempt, connection.manager);
    context.enter('guard');
    for (const guard of cancelGuards) if (await call(guard, workflow.instance, context)) return 'cancelled';
    if (step.skipIf !== null && (await call(step.skipIf, workflow.instance, context))) return 'skipped';
    const { gate } = attempt;
    if (!gate || gate.timedOut || (await gate.find())) return null;
    return { deadline: await deadlineOf(step, workflow.instance, context) };
  };
  try {
    const verdict = await askUnderLock(parts, connection, attempt, GUARDS, ask);
    return { verdict, context };
  } catch (error) {
    // A connection that was cut is no failure of the guards: the claim is rolled back, and made again.
    if (!isTimeOut(error) && (await connection.isLost())) {
      throw new Error(`${attempt.label}: the claim's connection was lost`, { cause: error });
    }
    throw new GuardFailed(attempt, context, error);
  } finally {
    attempt.gate?.close();
    // TypeScript does not see the assignment in the closure.
    if (context) (context as LiveContext).transactionManager = undefined;
  }
}

/** Anything can be thrown, also what throws when it is looked at: that is no time-out of ours. */
function isTimeOut(thrown: unknown): boolean {
  try {
    return thrown instanceof StepTimedOutError;
  } catch {
    return false;
  }
}
