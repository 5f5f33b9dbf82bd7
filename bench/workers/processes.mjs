// @ts-check
// Starts worker processes, asks them, and ends them by their ids.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** @typedef {import('./process.mjs').Figures} Figures */

const SCRIPT = fileURLToPath(new URL('./process.mjs', import.meta.url));
/** So many boot at once: a boot is all computing. */
const BOOT_AT_ONCE = 4;
const BOOT_MS = 120_000;

/** A process of its own with an application in it. */
export class BenchProcess {
  /** Told the id of each run whose body tells. @type {(workflowId: string) => void} */
  ran = () => {};
  #asked = 0;
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #closing = false;
  /** @type {import('node:child_process').ChildProcess} */
  #child;

  /** @param {import('node:child_process').ChildProcess} child */
  constructor(child) {
    this.#child = child;
    child.on('message', (/** @type {{ id?: number, result?: unknown, error?: string, ran?: string }} */ message) => {
      if (message.ran) return this.ran(message.ran);
      const waiting = this.#waiting.get(message.id ?? 0);
      this.#waiting.delete(message.id ?? 0);
      if (message.error) waiting?.reject(new Error(`A worker process failed: ${message.error}`));
      else waiting?.resolve(message.result);
    });
    child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`A worker process (pid ${child.pid}) ended: ${signal ?? `exit code ${code}`}`));
    });
  }

  /**
   * @param {string} url
   * @param {import('nestjs-pg-workflows').WorkflowModuleOptions['worker']} worker
   */
  static async start(url, worker) {
    const child = fork(SCRIPT, {
      execArgv: ['--enable-source-maps', '--expose-gc'],
      env: { ...process.env, BENCH_WORKER: JSON.stringify({ url, worker }) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const started = new BenchProcess(child);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`A worker process ended as it booted, with exit code ${code}: see its words above`);
    });
    ended.catch(() => undefined);
    await Promise.race([once(child, 'message', { signal: AbortSignal.timeout(BOOT_MS) }), ended]);
    return started;
  }

  get pid() {
    return /** @type {number} */ (this.#child.pid);
  }

  /** @returns {Promise<Figures>} */
  figures() {
    return this.#ask({ ask: 'figures' });
  }

  /**
   * Starts so many runs of the crowd there, a call for each slice (`startMany`), or a call for each run and so many at once (`start`).
   *
   * @param {'start' | 'startMany'} how
   * @param {number} count
   * @param {number} atOnce
   * @returns {Promise<number>} seconds
   */
  startBurst(how, count, atOnce) {
    return this.#ask({ ask: how, count, atOnce });
  }

  async close() {
    if (this.#closing) return;
    this.#closing = true;
    const ended = this.#child.exitCode === null && this.#child.signalCode === null ? once(this.#child, 'exit') : null;
    if (!ended) return;
    await this.#ask({ ask: 'close' }).catch((error) => console.error(String(error)));
    this.#child.kill('SIGKILL');
    await ended;
  }

  /**
   * @param {object} request
   * @returns {Promise<any>}
   */
  #ask(request) {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ ...request, id }, (error) => error && reject(error));
    });
  }
}

/**
 * @param {number} count
 * @param {string} url
 * @param {import('nestjs-pg-workflows').WorkflowModuleOptions['worker']} worker
 * @param {(started: number) => void} [progress]
 */
export async function startProcesses(count, url, worker, progress = () => {}) {
  /** @type {BenchProcess[]} */
  const all = [];
  try {
    while (all.length < count) {
      const some = Array.from({ length: Math.min(BOOT_AT_ONCE, count - all.length) }, () =>
        BenchProcess.start(url, worker),
      );
      const booted = await Promise.allSettled(some);
      for (const one of booted) if (one.status === 'fulfilled') all.push(one.value);
      for (const one of booted) if (one.status === 'rejected') throw one.reason;
      progress(all.length);
    }
    return all;
  } catch (error) {
    await closeAll(all);
    throw error;
  }
}

/** @param {readonly BenchProcess[]} processes */
export async function closeAll(processes) {
  await Promise.all(processes.map((one) => one.close()));
}

/**
 * The sum of what they tell.
 *
 * @param {readonly BenchProcess[]} processes
 * @returns {Promise<Figures>}
 */
export async function figuresOf(processes) {
  const all = await Promise.all(processes.map((one) => one.figures()));
  const sum = (/** @type {keyof Figures} */ key) => all.reduce((total, one) => total + one[key], 0);
  return {
    cpuSeconds: sum('cpuSeconds'),
    heapBytes: sum('heapBytes'),
    rssBytes: sum('rssBytes'),
    peakRssBytes: sum('peakRssBytes'),
    claims: sum('claims'),
    emptyClaims: sum('emptyClaims'),
  };
}
