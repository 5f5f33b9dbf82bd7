// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PostgresProxy } from '../../support/pg-proxy.mjs';

/** @typedef {import('./worker.mjs').Orders} Orders */

const SCRIPT = fileURLToPath(new URL('./worker.mjs', import.meta.url));
const LONGEST_LOG = 20_000;

/** None outlives this process; a frozen one would not notice by itself that it is gone. @type {Set<import('node:child_process').ChildProcess>} */
const alive = new Set();
process.on('exit', () => alive.forEach((child) => child.kill('SIGKILL')));

/**
 * A worker process, and the proxy through which it alone reaches the database. It has loaded its code, and begins to work when it is told
 * to `open`.
 */
export class WorkerProcess {
  /** It works. */
  isOpen = false;
  #log = '';
  #number = 0;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  #answers = new Map();
  #child;
  /** @type {Promise<void> | undefined} */
  #closing;
  /** Resolves when the process has ended. */
  ended;

  /** @param {PostgresProxy} proxy */
  constructor(proxy) {
    this.proxy = proxy;
    this.#child = fork(SCRIPT, [], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (this.#log = (this.#log + text).slice(-LONGEST_LOG)));
    }
    alive.add(this.#child);
    // What cannot be sent to it any more is answered by its end.
    this.#child.on('error', () => undefined);
    this.ended = once(this.#child, 'exit').then(([code, signal]) => this.#end(signal ?? code));
    let isReady = () => {};
    let isFrozen = () => {};
    /** @type {Promise<void>} */
    this.ready = new Promise((resolve) => (isReady = resolve));
    /** Resolves when it was to be frozen at a place, has reached that, and stands still, as on a machine that is suspended. @type {Promise<void>} */
    this.frozen = new Promise((resolve) => (isFrozen = resolve));
    this.#child.on('message', (/** @type {any} */ message) => {
      if (message.ready) return isReady();
      if (!message.reached) return this.#hear(message);
      this.#child.kill('SIGSTOP');
      isFrozen();
    });
  }

  /** @param {string | number | null} how */
  #end(how) {
    alive.delete(this.#child);
    this.isOpen = false;
    const error = new Error(`The worker process ended (${how}). Its log:\n${this.#log}`);
    for (const { reject } of this.#answers.values()) reject(error);
    this.#answers.clear();
  }

  /** @param {{ id: number, value?: unknown, error?: string }} answer */
  #hear({ id, value, error }) {
    const asked = this.#answers.get(id);
    this.#answers.delete(id);
    if (error === undefined) asked?.resolve(value);
    else asked?.reject(new Error(error));
  }

  /** @param {string} database the workflow database */
  static async spawn(database) {
    return new WorkerProcess(await new PostgresProxy(database).open());
  }

  /** What it has logged. */
  get log() {
    return this.#log;
  }

  get isAlive() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** @param {Omit<import('./worker.mjs').Settings, 'url'>} settings */
  async open(settings) {
    await Promise.race([this.ready, this.ended]);
    await this.order('open', { ...settings, url: this.proxy.url });
    this.isOpen = true;
  }

  /**
   * @template {keyof Orders} Order
   * @param {Order} order
   * @param {Parameters<Orders[Order]>[0]} [given]
   * @returns {Promise<Awaited<ReturnType<Orders[Order]>>>}
   */
  order(order, given) {
    if (!this.isAlive) return Promise.reject(new Error(`The worker process has ended. Its log:\n${this.#log}`));
    const id = (this.#number += 1);
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      this.#child.send({ id, order, with: given });
    });
  }

  /** Stops working, in order: what it has in hand is ended first. It may be opened again. */
  async rest() {
    await this.order('close');
    this.isOpen = false;
  }

  /** Lets it go on that was frozen. */
  thaw() {
    this.#child.kill('SIGCONT');
  }

  /** Kills it, as the machine would: nothing of it runs any more, and its connections are gone. */
  kill() {
    this.#child.kill('SIGKILL');
    this.proxy.cutAll();
  }

  /** Ends it in order, if it is still there. */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    if (this.isAlive) {
      if (this.isOpen) await this.rest().catch(() => undefined);
      this.#child.disconnect();
      await this.ended;
    }
    await this.proxy.close();
  }
}
