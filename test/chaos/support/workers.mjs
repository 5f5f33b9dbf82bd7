// @ts-check
// Worker processes that are killed and started again.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./worker.mjs', import.meta.url));
const STOP_LIMIT_MS = 30_000;
const LOG_LINES = 8;

/**
 * @typedef {import('./worker.mjs').WorkerConfig} WorkerConfig
 * @typedef {import('./worker.mjs').WorkerSample} WorkerSample
 * @typedef {object} Worker
 * @property {import('node:child_process').ChildProcess} child
 * @property {number | null} readyAt since when it is up
 * @property {boolean} killed by us
 * @property {Promise<(number | string | null)[]>} ended exit code and signal
 * @property {string} log
 */

export class Workers {
  /** How many processes were killed, and how many were started. */
  kills = 0;
  boots = 0;
  /** Ids of the processes that were killed. @type {Set<number>} */
  killed = new Set();
  /** What no worker may do: end by itself, or not end when told to. @type {string[]} */
  problems = [];
  /** By slot: a worker that ends is followed by another in its place. @type {Worker[]} */
  #slots = [];
  #stopping = false;
  /** @type {(slot: number) => WorkerConfig} */
  #configOf;
  #mayFail;

  /**
   * @param {(slot: number) => WorkerConfig} configOf
   * @param {() => boolean} [mayFail] there is no database just now: who boots may give up
   */
  constructor(configOf, mayFail = () => false) {
    this.#configOf = configOf;
    this.#mayFail = mayFail;
  }

  /**
   * Starts so many, and waits until they work.
   *
   * @param {number} count
   */
  async start(count) {
    for (let slot = 0; slot < count; slot += 1) this.#boot(slot);
    await Promise.all(this.#slots.map(untilReady));
  }

  /** Those that are up, the longest first. */
  get ready() {
    return this.#slots
      .filter((worker) => worker.readyAt !== null && !worker.killed)
      .toSorted((a, b) => Number(a.readyAt) - Number(b.readyAt));
  }

  /**
   * Ends one where it stands; another takes its place.
   *
   * @param {Worker} worker
   */
  kill(worker) {
    worker.killed = true;
    this.killed.add(worker.child.pid ?? 0);
    this.kills += 1;
    worker.child.kill('SIGKILL');
  }

  /** @returns {Promise<WorkerSample[]>} of those that are up */
  async sample() {
    const samples = await Promise.all(this.ready.map(sampleOf));
    return samples.filter((sample) => sample !== null);
  }

  /** Tells all to stop, and waits until they have. */
  async stop() {
    this.#stopping = true;
    await Promise.all(this.#slots.map((worker) => this.#stopOne(worker)));
  }

  /** Ends what is left, in whatever state it is. */
  abandon() {
    this.#stopping = true;
    for (const worker of this.#slots) worker.child.kill('SIGKILL');
  }

  /** @param {number} slot */
  #boot(slot) {
    const config = this.#configOf(slot);
    this.boots += 1;
    const log = path.join(config.folder, `worker-${this.boots}.log`);
    const output = openSync(log, 'a');
    const child = fork(SCRIPT, {
      env: { ...process.env, CHAOS_WORKER: JSON.stringify(config), NO_COLOR: '1' },
      execArgv: ['--expose-gc', '--enable-source-maps'],
      stdio: ['ignore', output, output, 'ipc'],
    });
    closeSync(output);
    /** @type {Worker} */
    const worker = { child, readyAt: null, killed: false, ended: once(child, 'exit'), log };
    this.#slots[slot] = worker;
    child.on('message', (message) => {
      if (message === 'ready') worker.readyAt = performance.now();
    });
    child.once('exit', (code, signal) => {
      const booting = worker.readyAt === null;
      worker.readyAt = null;
      if (!worker.killed && !this.#stopping && !(booting && this.#mayFail())) {
        this.problems.push(`a worker ended by itself (${signal ?? `exit code ${code}`}): ${tailOf(log)}`);
      }
      // A little later: what cannot boot must not keep the machine busy with trying.
      setTimeout(() => this.#stopping || this.#boot(slot), booting ? 500 : 0);
    });
  }

  /** @param {Worker} worker */
  async #stopOne({ child, ended, log }) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.send('stop', () => {});
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    const [code, signal] = await ended;
    clearTimeout(timer);
    if (code !== 0) {
      const how = signal ? `did not stop in ${STOP_LIMIT_MS / 1_000} s` : `stopped with exit code ${code}`;
      this.problems.push(`a worker ${how}: ${tailOf(log)}`);
    }
  }
}

/**
 * @param {Worker} worker
 * @returns {Promise<WorkerSample | null>} null: it ended
 */
async function sampleOf({ child, ended }) {
  child.send('sample', () => {});
  for (;;) {
    const heard = await Promise.race([once(child, 'message'), ended.then(() => null)]);
    if (heard === null) return null;
    if (heard[0]?.sample) return heard[0].sample;
  }
}

/** @param {Worker} worker */
async function untilReady(worker) {
  while (worker.readyAt === null) {
    const heard = await Promise.race([once(worker.child, 'message'), worker.ended.then(() => null)]);
    if (heard === null) throw new Error(`A worker did not start: ${tailOf(worker.log)}`);
  }
}

/** @param {string} log */
function tailOf(log) {
  return readFileSync(log, 'utf8').trim().split('\n').slice(-LOG_LINES).join('\n  ') || '(it said nothing)';
}
