// @ts-check
import { WorkerProcess } from './worker-process.mjs';

/** @typedef {Omit<import('./worker.mjs').Settings, 'url'>} Settings */

/**
 * A chain of worker processes on one database: one works; the next one, whose code is loaded meanwhile, takes over when that one dies,
 * and is the one that works from then on.
 */
export class WorkerChain {
  #database;
  #settings;
  /** @type {WorkerProcess | undefined} */
  #working;
  /** @type {Promise<WorkerProcess> | undefined} */
  #next;

  /**
   * @param {string} database
   * @param {Settings} settings
   */
  constructor(database, settings) {
    this.#database = database;
    this.#settings = settings;
  }

  /** The one that works. */
  async working() {
    this.#working ??= await this.#spawn();
    return this.open(this.#working);
  }

  /** The one that comes after it; it does not work yet. */
  next() {
    this.#next ??= this.#spawn();
    return this.#next;
  }

  /** The next one is the one that works: the one before is dead, or taken for dead. Whoever has that closes it. */
  async pass() {
    this.#working = await this.next();
    this.#next = undefined;
  }

  /** @param {WorkerProcess} worker */
  async open(worker) {
    if (!worker.isOpen) await worker.open(this.#settings);
    return worker;
  }

  /** Ends them all. */
  async close() {
    const all = [this.#working, await this.#next?.catch(() => undefined)];
    this.#working = undefined;
    this.#next = undefined;
    await Promise.all(all.map(async (worker) => worker?.close()));
  }

  #spawn() {
    return WorkerProcess.spawn(this.#database);
  }
}
