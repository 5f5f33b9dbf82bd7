// @ts-check

/** Measures from the call of `start`, in this process, until the run's body runs in one of the worker processes. */
export class Stopwatch {
  /** @type {Map<string, () => void>} */
  #waiting = new Map();
  /** Told before `start` had returned. @type {Set<string>} */
  #early = new Set();

  /** @param {readonly import('./processes.mjs').BenchProcess[]} workers */
  constructor(workers) {
    for (const worker of workers) worker.ran = (id) => this.#told(id);
  }

  /**
   * @param {() => Promise<{ id: string }>} start of a run whose body tells
   * @returns {Promise<number>} milliseconds
   */
  async untilRan(start) {
    const begun = performance.now();
    const { id } = await start();
    if (!this.#early.delete(id)) {
      await new Promise((resolve) => this.#waiting.set(id, () => resolve(undefined)));
      this.#waiting.delete(id);
    }
    return performance.now() - begun;
  }

  /** @param {string} id */
  #told(id) {
    const resolve = this.#waiting.get(id);
    if (resolve) resolve();
    else this.#early.add(id);
  }
}
