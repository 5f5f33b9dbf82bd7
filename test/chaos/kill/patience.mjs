// @ts-check
// What a round waits for, and what it says when that does not come.

import { setTimeout as sleep } from 'node:timers/promises';

/** A run that does not get anywhere for so long never will. */
const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 25;

/** Something is not as it should be: told, not thrown at anybody. */
export class Problem extends Error {}
/** The worker went on before it was struck: nothing is wrong, and nothing shown. */
export class Missed extends Problem {}
/**
 * @param {() => Promise<boolean>} condition
 * @returns {Promise<boolean>} whether it came to hold
 */
export async function eventually(condition) {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > limit) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 * @returns {Promise<T>}
 */
export async function inTime(promise, what) {
  const halt = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: halt.signal }).then(() => {
    throw new Problem(`Waited in vain until ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => undefined);
    halt.abort();
  }
}
