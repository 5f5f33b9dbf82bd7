import { StepTimedOutError } from '../errors.js';
import { transactionStatus, type Connection } from '../store/connection.js';
import type { Attempt } from './attempt.js';
import { inStep } from './body.js';
import type { EngineParts } from './engine.parts.js';

/** What errors call the code that was asked: one of it, and all that shares `guardTimeout`. */
export interface Asked {
  readonly one: string;
  readonly all: string;
}

export const GUARDS: Asked = { one: 'a guard', all: 'its guards' };
export const WAIT_TIMEOUT: Asked = { one: 'waitTimeout', all: 'its waitTimeout' };

/**
 * Asks code of the application's that runs while we hold its run's lock: within `guardTimeout`, and it must leave the transaction as it
 * found it. Whatever it throws, the transaction may be beyond use: roll it back.
 */
export async function askUnderLock<T>(
  parts: EngineParts,
  connection: Connection,
  attempt: Attempt,
  asked: Asked,
  ask: () => Promise<T>,
): Promise<T> {
  const answer = await withinTime(parts, connection, attempt, asked, () => inStep(attempt, ask));
  const status = transactionStatus(connection.client);
  if (status === 'E') throw swallowedError(attempt, asked);
  if (status === 'I') {
    throw new Error(
      `${attempt.label}: ${asked.one} ended its transaction itself, and gave the run's lock away with it. Leave commit and rollback to ` +
        'the engine.',
    );
  }
  return answer;
}

export function swallowedError({ label }: Attempt, { one }: Asked): Error {
  return new Error(
    `${label}: ${one}'s query failed in the database, and it went on. Let the error pass: the engine takes care of it.`,
  );
}

/** What the code still waits for in the database at its time is cancelled there, so that the lock is given back. */
async function withinTime<T>(
  { database, settings }: EngineParts,
  connection: Connection,
  attempt: Attempt,
  asked: Asked,
  ask: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const begun = performance.now();
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      const error = tookTooLong(attempt, asked, settings.guardTimeout);
      attempt.abort(error);
      database.cancelQuery(connection).then(
        () => reject(error),
        () => reject(error),
      );
    }, settings.guardTimeout);
    // After a stop, code that never ends must not keep the process either; until then connections do.
    timer.unref();
  });
  const answer = ask();
  await Promise.race([answer, late]).catch(() => undefined);
  clearTimeout(timer);
  // What the cancelled query threw, or what the code made of it, is no longer asked for. And the cancellation must have been
  // sent before anything else is: it would hit that.
  if (isLate) await late;
  // Synchronous code lets no timer fire: nothing could interrupt it, but it was too long all the same.
  if (performance.now() - begun > settings.guardTimeout) {
    answer.catch(() => undefined);
    throw tookTooLong(attempt, asked, settings.guardTimeout);
  }
  return answer;
}

export function tookTooLong({ label }: Attempt, { all }: Asked, guardTimeout: number): StepTimedOutError {
  return new StepTimedOutError(
    `${label}: ${all} took longer than guardTimeout (${guardTimeout} ms). The run's lock is held meanwhile, so keep it short. What was ` +
      'written was rolled back.',
  );
}
