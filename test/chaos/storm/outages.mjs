// @ts-check
// When there was no database, and which errors that explains.

import { setTimeout as sleep } from 'node:timers/promises';

/** SQLSTATEs of a server that goes or comes, and Node's codes of a connection that is gone. */
const CODES = new Set(['57P01', '57P02', '57P03', '08000', '08003', '08006', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);
/** Of the driver, which has no codes for these. */
const WORDS = /Connection terminated|Client has encountered a connection error|Client was closed|connection was lost/i;
/** A connection that nobody used is found dead this much later. */
const AFTERMATH_MS = 5_000;
const TRY_AGAIN_MS = 100;

export class Outages {
  /** How often the server was restarted. */
  count = 0;
  #since = Infinity;
  #until = -Infinity;

  /** There is no database, or has not been for long. */
  get now() {
    return performance.now() >= this.#since && performance.now() <= this.#until;
  }

  /** @param {() => Promise<void>} restart */
  async during(restart) {
    this.#since = performance.now();
    this.#until = Infinity;
    await restart();
    this.count += 1;
    this.#until = performance.now() + AFTERMATH_MS;
  }

  /**
   * It is what it looks like when the server is restarted, and it is.
   *
   * @param {unknown} error
   */
  explain(error) {
    return this.now && isOfConnection(error);
  }

  /**
   * Does it again for as long as the server is to blame.
   *
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  async through(act) {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!this.explain(error)) throw error;
        await sleep(TRY_AGAIN_MS);
      }
    }
  }
}

/**
 * @param {unknown} error
 * @returns {boolean}
 */
function isOfConnection(error) {
  if (!(error instanceof Error)) return false;
  const { code } = /** @type {{ code?: unknown }} */ (/** @type {unknown} */ (error));
  if ((typeof code === 'string' && CODES.has(code)) || WORDS.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isOfConnection)) return true;
  return isOfConnection(error.cause);
}
