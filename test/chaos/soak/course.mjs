// @ts-check
// A steady load for minutes, sampled; then a judgement.

import { setTimeout as sleep } from 'node:timers/promises';
import { brokenInvariants } from '../../support/invariants.mjs';
import { openApp } from '../support/app.mjs';
import { openDatabase } from '../support/database.mjs';
import { Workers } from '../support/workers.mjs';
import { judge } from './judge.mjs';
import { Sampler } from './sampler.mjs';
import { providers, SoakChain, SoakCrowd, SoakWaits } from './workflows.mjs';

/** Runs are started this often, as many as are due. */
const TICK_MS = 250;
/** Of what runs the load is made: half of them plain chains. */
const MIX = [SoakChain, SoakWaits, SoakChain, SoakCrowd];
/** More than this many seconds' worth of runs under way: the load waits for the workers. */
const MOST_BEHIND_S = 10;
const END_LIMIT_MS = 60_000;

/**
 * @typedef {object} SoakOptions
 * @property {number} seconds
 * @property {number} rate runs started a second
 * @property {number} workers
 * @property {number} sampleEvery seconds
 * @property {number} retention seconds
 * @property {number} sweepEvery seconds
 * @property {string} folder for the workers' logs
 *
 * @typedef {import('./judge.mjs').Sample} Sample
 */

/**
 * @param {SoakOptions} options
 * @param {(line: string) => void} say
 * @param {(sample: Sample) => void} sampled
 */
export async function runSoak(options, say, sampled) {
  // Minutes stand for days here: autovacuum looks as much more often as rows are deleted earlier.
  const database = await openDatabase({ settings: { autovacuum_naptime: '5s' } });
  const workers = new Workers(() => ({
    url: database.url,
    folder: options.folder,
    workflows: new URL('./workflows.mjs', import.meta.url).href,
    poolSize: 10,
    settings: {
      retention: options.retention * 1_000,
      sweepInterval: options.sweepEvery * 1_000,
      worker: { concurrency: 50 },
    },
  }));
  /** @type {Awaited<ReturnType<typeof openApp>> | undefined} */
  let client;
  try {
    client = await openApp(database.url, { providers, poolSize: 5, settings: { worker: false }, quiet: true });
    await workers.start(options.workers);
    say(`${options.workers} workers are up`);
    const load = new Load(client.workflows, database, options.rate);
    const loading = load.run();
    const sampler = new Sampler(database, workers);
    /** @type {Sample[]} */
    const samples = [];
    for (let next = options.sampleEvery; next <= options.seconds; next += options.sampleEvery) {
      await Promise.race([sleep(next * 1_000 - load.ageMs), loading]);
      const sample = await sampler.sample();
      samples.push(sample);
      sampled(sample);
    }
    load.stop();
    await loading;
    say('the load is over; what is under way comes to its end');
    const open = await untilEnded(database);
    await workers.stop();
    const [{ kept }] = await database.query('select count(*)::int as kept from workflows');
    const judgements = judge(samples);
    const problems = [
      ...workers.problems,
      ...(await brokenInvariants({ query: database.query })),
      ...(open ? [`${open} runs did not end`] : []),
      ...(kept < load.started || options.retention > options.seconds ? [] : ['no ended run was ever deleted']),
      ...judgements
        .filter(({ verdict }) => verdict !== 'level')
        .map(
          ({ name, verdict, second, last, bound }) =>
            `${name} ${verdict}: ${round(second)}, later ${round(last)} (${bound})`,
        ),
    ];
    return {
      ok: problems.length === 0,
      problems,
      started: load.started,
      deleted: load.started - kept,
      judgements,
      samples,
    };
  } finally {
    workers.abandon();
    await client?.close().catch(() => undefined);
    await database.close();
  }
}

/** Starts runs at a rate, and sends those that wait their signal a second later. */
class Load {
  started = 0;
  #over = false;
  #begun = performance.now();

  /**
   * @param {import('nestjs-pg-workflows').WorkflowService} workflows
   * @param {import('../support/database.mjs').ChaosDatabase} database
   * @param {number} rate
   */
  constructor(workflows, database, rate) {
    this.workflows = workflows;
    this.database = database;
    this.rate = rate;
  }

  get ageMs() {
    return performance.now() - this.#begun;
  }

  stop() {
    this.#over = true;
  }

  async run() {
    /** Turns of the class, not of the clock: a tick that comes late makes up for what it missed. */
    let turn = 0;
    let due = 0;
    let last = this.ageMs;
    /** @type {{ at: number, run: import('nestjs-pg-workflows').WorkflowHandle }[]} */
    const toSignal = [];
    while (!this.#over) {
      await sleep(TICK_MS);
      const now = this.ageMs;
      due = Math.min(due + ((now - last) / 1_000) * this.rate, this.rate * 2);
      last = now;
      const [{ open }] = await this.database.query(
        'select count(*)::int as open from workflows where ended_at is null',
      );
      if (open < this.rate * MOST_BEHIND_S) {
        const count = Math.floor(due);
        due -= count;
        const workflow = MIX[turn++ % MIX.length];
        const inputs = Array.from({ length: count }, (_, index) => ({ args: { number: this.started + index } }));
        const runs = await this.workflows.startMany(workflow, inputs);
        this.started += count;
        if (workflow === SoakWaits) toSignal.push(...runs.map((run) => ({ at: now + 1_000, run })));
      }
      while (toSignal[0] && toSignal[0].at <= now) await toSignal.shift()?.run.signal('go', {}, { actor: 'soak' });
    }
  }
}

/**
 * @param {import('../support/database.mjs').ChaosDatabase} database
 * @returns {Promise<number>} how many have not, after a minute
 */
async function untilEnded(database) {
  const deadline = performance.now() + END_LIMIT_MS;
  for (;;) {
    const [{ open }] = await database.query('select count(*)::int as open from workflows where ended_at is null');
    if (open === 0 || performance.now() > deadline) return open;
    await sleep(200);
  }
}

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;
