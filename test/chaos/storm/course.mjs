// @ts-check
// The storm from its first run to the verdict.

import { setTimeout as sleep } from 'node:timers/promises';
import { openApp } from '../support/app.mjs';
import { openDatabase } from '../support/database.mjs';
import { randomFrom } from '../support/random.mjs';
import { Workers } from '../support/workers.mjs';
import { runsByStatus } from './counts.mjs';
import { drain } from './drain.mjs';
import { Outages } from './outages.mjs';
import { isRefusal, pickVerb } from './verbs.mjs';
import { verdict } from './verdict.mjs';
import { EFFECTS_TABLE, LEASE_MS, MIX, providers } from './workflows.mjs';

const CLIENTS = 4;
/** PostgreSQL may be away for longer than a lease: nobody is dead for that. */
const LONGEST_AWAY_MS = 2 * LEASE_MS;
const STARTED_AT_ONCE = 5;
const QUEUE_POLL = '200ms';
/** A batch whose last member's worker died before it could join is found by a sweep, this long after its end. */
const SWEPT_AFTER = '5s';
/** What a worker does with the stalls it finds: each process has its own opinion. */
const STALL_ACTIONS = /** @type {const} */ ([
  ['pause', 5],
  ['reattempt', 4],
  ['cancel', 1],
]);

/**
 * @typedef {object} StormOptions
 * @property {number} seed
 * @property {number} runs
 * @property {number} rate runs started a second, at most
 * @property {number} underWay runs that are neither ended nor paused, at most
 * @property {number} workers
 * @property {number} killEvery milliseconds; 0: nobody is killed
 * @property {number} restarts of PostgreSQL
 * @property {number} patience milliseconds without any change, after which what is left counts as stuck
 * @property {string} folder for ledgers and logs
 *
 * @typedef {{ done: number, refused: number, cut: number }} VerbCount `cut`: the server went away under it
 *
 * @typedef {object} Tally what the course counts as it goes
 * @property {number} started
 * @property {number} reruns
 * @property {Record<string, VerbCount>} verbs
 * @property {number} deadlocks
 * @property {string[]} problems
 */

/**
 * @param {StormOptions} options
 * @param {(line: string) => void} say
 */
export async function runStorm(options, say) {
  const begun = performance.now();
  // A server of its own, which waits for its disk: it is going to crash.
  const database = await openDatabase({ own: true });
  const outages = new Outages();
  const chance = randomFrom(options.seed);
  const workers = new Workers(
    () => ({
      url: database.url,
      folder: options.folder,
      workflows: new URL('./workflows.mjs', import.meta.url).href,
      poolSize: 8,
      settings: {
        stallAction: chance.weighted(STALL_ACTIONS),
        stallThreshold: SWEPT_AFTER,
        sweepInterval: '2s',
        worker: { concurrency: 20, pollInterval: QUEUE_POLL, lease: LEASE_MS, shutdownGrace: '10s' },
      },
    }),
    () => outages.now,
  );
  /** @type {Tally} */
  const tally = { started: 0, reruns: 0, verbs: {}, deadlocks: 0, problems: [] };
  /** @type {Awaited<ReturnType<typeof openApp>> | undefined} */
  let client;
  try {
    await database.query(EFFECTS_TABLE);
    client = await openApp(database.url, { providers, poolSize: 10, settings: { worker: false }, quiet: true });
    await workers.start(options.workers);
    say(`${options.workers} workers are up; seed ${options.seed}`);

    const storm = new Storm(options, { database, outages, workers, tally, workflows: client.workflows, say });
    await storm.blow();
    say('verbs and kills are over; what is paused is resumed');
    await drain(client.workflows, database, options.patience, say);
    await storm.countDeadlocks();
    await workers.stop();
    await client.close();
    const seconds = (performance.now() - begun) / 1_000;
    return { ...(await verdict({ options, database, tally, workers, outages })), seconds };
  } finally {
    workers.abandon();
    await client?.close().catch(() => undefined);
    await database.close();
  }
}

/**
 * @typedef {object} Scene
 * @property {import('../support/database.mjs').ChaosDatabase} database
 * @property {Outages} outages
 * @property {Workers} workers
 * @property {Tally} tally
 * @property {import('nestjs-pg-workflows').WorkflowService} workflows
 * @property {(line: string) => void} say
 */

class Storm {
  #over = false;
  /** @type {import('./verbs.mjs').Run[]} */
  #runs = [];
  #deadlocksBefore = 0;

  /**
   * @param {StormOptions} options
   * @param {Scene} scene
   */
  constructor(options, scene) {
    this.options = options;
    this.scene = scene;
  }

  /** Until all runs are started and the last restart is over. */
  async blow() {
    const beside = [
      ...Array.from({ length: CLIENTS }, (_, index) => this.#issueVerbs(index + 1)),
      this.#kill(),
      this.#tell(),
    ];
    await Promise.all([this.#startRuns(), this.#restart()]);
    this.#over = true;
    await Promise.all(beside);
  }

  /** The server forgets its counters when it crashes. */
  async countDeadlocks() {
    const { database, tally } = this.scene;
    const [row] = await database.query(
      'select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()',
    );
    tally.deadlocks = this.#deadlocksBefore + row.deadlocks;
  }

  async #startRuns() {
    const { options, scene } = this;
    const { workflows, outages, tally, database } = scene;
    const random = randomFrom(options.seed + 1_000);
    const begun = performance.now();
    while (tally.started < options.runs) {
      const [{ busy }] = await outages.through(() =>
        database.query(`select count(*)::int as busy from workflows where ended_at is null and paused_at is null`),
      );
      const early = tally.started > ((performance.now() - begun) / 1_000) * options.rate;
      if (busy >= options.underWay || early) {
        await sleep(20);
        continue;
      }
      const { workflow } = random.weighted(MIX.map((one) => /** @type {const} */ ([one, one.weight])));
      const many = random.next() < 0.5 ? 1 : STARTED_AT_ONCE;
      const inputs = Array.from({ length: Math.min(many, options.runs - tally.started) }, (_, index) => {
        const number = options.seed * 100_000 + tally.started + index;
        // A start whose answer was lost is made again, and must find what it made.
        return { args: { number }, idempotencyKey: `storm-${number}`, actor: 'starter' };
      });
      const started = await outages.through(async () => {
        const [first] = inputs;
        return first && inputs.length === 1
          ? [await workflows.start(workflow, first)]
          : workflows.startMany(workflow, inputs);
      });
      this.#runs.push(...started);
      tally.started += started.length;
    }
  }

  /** @param {number} client */
  async #issueVerbs(client) {
    const { options } = this;
    const random = randomFrom(options.seed + client);
    while (!this.#over) {
      // Most of what is old has ended.
      const recent = Math.min(this.#runs.length, options.underWay * 2);
      const run = recent ? this.#runs[this.#runs.length - 1 - random.whole(recent)] : undefined;
      if (run) await this.#issue(run, random, `client-${client}`);
      await sleep(random.whole(15));
    }
  }

  /**
   * @param {import('./verbs.mjs').Run} run
   * @param {import('../support/random.mjs').Random} random
   * @param {string} actor
   */
  async #issue(run, random, actor) {
    const { tally, outages } = this.scene;
    const verb = pickVerb(random);
    const count = (tally.verbs[verb.name] ??= { done: 0, refused: 0, cut: 0 });
    try {
      const answer = await verb.issue(run, random, actor);
      count.done += 1;
      if (verb.name === 'rerun') {
        tally.reruns += 1;
        this.#runs.push(/** @type {import('./verbs.mjs').Run} */ (answer));
      }
    } catch (error) {
      if (isRefusal(error)) count.refused += 1;
      else if (outages.explain(error)) {
        count.cut += 1;
        await sleep(100);
      } else tally.problems.push(`${verb.name} of ${run.id} (${run.workflowName}) rejected with ${String(error)}`);
    }
  }

  /**
   * Who has been up longest is spared four times of five: were all killed before they are a lease old, nobody would ever look
   * for the rows of the dead.
   */
  async #kill() {
    const { options, scene } = this;
    const random = randomFrom(options.seed + 2_000);
    for (let turn = 1; !this.#over && options.killEvery > 0; turn += 1) {
      await sleep(options.killEvery);
      const [eldest, ...others] = scene.workers.ready;
      const victim = turn % 5 === 0 ? eldest : others.length ? random.pick(others) : undefined;
      if (victim && !this.#over) scene.workers.kill(victim);
    }
  }

  /** Spread over the runs. */
  async #restart() {
    const { options, scene } = this;
    const { tally, outages, database, say } = scene;
    const random = randomFrom(options.seed + 3_000);
    for (let turn = 1; turn <= options.restarts; turn += 1) {
      while (tally.started < (options.runs * turn) / (options.restarts + 1)) await sleep(50);
      await outages.through(() => this.countDeadlocks());
      this.#deadlocksBefore = tally.deadlocks;
      await outages.during(() => database.restart('immediate', random.whole(LONGEST_AWAY_MS)));
      say(`PostgreSQL was restarted (${turn} of ${options.restarts})`);
    }
  }

  /** A line a second. */
  async #tell() {
    const { options, scene } = this;
    const { tally, workers, database, say } = scene;
    const begun = performance.now();
    while (!this.#over) {
      await sleep(1_000);
      const counts = await runsByStatus(database).catch(() => null);
      const shown = counts ? Object.entries(counts).map(([status, count]) => `${status} ${count}`) : ['no database'];
      const verbs = Object.values(tally.verbs).reduce((sum, { done }) => sum + done, 0);
      say(
        `${Math.round((performance.now() - begun) / 1_000)} s: ${tally.started} of ${options.runs} started; ${shown.join(', ')}; ` +
          `${verbs} verbs, ${workers.kills} kills, ${workers.ready.length} workers up`,
      );
    }
  }
}
