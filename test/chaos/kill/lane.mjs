// @ts-check
// One lane of the matrix: a workflow database and a ledger of its own, and a chain of workers.

import { Client } from 'pg';
import { openApplication } from './application.mjs';
import { Ledger } from './ledger.mjs';
import { Missed, Problem } from './patience.mjs';
import { Play } from './play.mjs';
import { WorkerChain } from './worker-chain.mjs';
import { CREATE_WRITTEN } from './workflows.mjs';

/**
 * @typedef {import('./points.mjs').Point} Point
 * @typedef {import('nestjs-pg-workflows').StallAction} StallAction
 *
 * @typedef {object} Place
 * @property {{ url: string, drop: () => Promise<void> }} database with the package's tables
 * @property {{ url: string, drop: () => Promise<void> }} ledger
 *
 * @typedef {object} Round what came of one
 * @property {string} point
 * @property {StallAction} action
 * @property {'restarted' | 'second' | 'same'} recoveredBy a worker that began after the kill, one that was there before it, or itself
 * @property {string[]} problems empty: all is as it should be
 * @property {string[]} detections of the stalls that were declared: `lease`, `sweep`
 * @property {string} end the run's status before anybody looked after it
 * @property {boolean} resumed it was paused, and finished after somebody had resumed it
 * @property {number | null} noticedMs from the kill until the stall was declared
 * @property {number | null} overMs from the kill (the cut) until the run had ended, or paused for somebody
 * @property {import('./observe.mjs').Counts} effects
 */

/** How often a round is played whose worker went on before it was struck. */
const TRIES = 3;

export class Lane {
  #place;
  #client;
  #application;
  #ledger;
  #play;
  /** @type {{ action: StallAction, chain: WorkerChain } | undefined} */
  #workers;

  /**
   * @param {Place} place
   * @param {Client} client
   * @param {Awaited<ReturnType<typeof openApplication>>} application
   */
  constructor(place, client, application) {
    this.#place = place;
    this.#client = client;
    this.#application = application;
    this.#ledger = new Ledger(place.ledger.url);
    this.#play = new Play(client, application, this.#ledger);
  }

  /** @param {Place} place */
  static async open(place) {
    const client = new Client({ connectionString: place.database.url });
    await client.connect();
    await client.query(CREATE_WRITTEN);
    return new Lane(place, client, await openApplication(place.database.url, { worker: false }, { poolSize: 2 }));
  }

  async close() {
    await this.#workers?.chain.close();
    await this.#application.close();
    await this.#ledger.close();
    await this.#client.end();
    await Promise.all([this.#place.database.drop(), this.#place.ledger.drop()]);
  }

  /**
   * @param {Point} point
   * @param {StallAction} action
   * @param {number} number of the round: in every second one the worker that recovers is there before the kill
   * @returns {Promise<Round>}
   */
  async round(point, action, number) {
    for (let missed = 1; ; missed += 1) {
      const { round, error } = await this.#roundOnce(point, action, number);
      if (!(error instanceof Missed) || missed === TRIES) return round;
    }
  }

  /**
   * @param {Point} point
   * @param {StallAction} action
   * @param {number} number
   * @returns {Promise<{ round: Round, error?: unknown }>}
   */
  async #roundOnce(point, action, number) {
    /** @type {Round} */
    const round = {
      point: point.name,
      action,
      recoveredBy: point.does === 'cut' ? 'same' : number % 2 ? 'second' : 'restarted',
      problems: [],
      detections: [],
      end: 'open',
      resumed: false,
      noticedMs: null,
      overMs: null,
      effects: { plain: [], keyed: [], transactional: [] },
    };
    let error;
    try {
      await this.#play.play(point, round, await this.#chainFor(action));
    } catch (thrown) {
      error = thrown;
      round.problems.push(thrown instanceof Problem ? thrown.message : String(/** @type {any} */ (thrown)?.stack));
    }
    if (round.problems.length) await this.#startAfresh();
    return { round, error };
  }

  /** @param {StallAction} action a setting of the workers: other workers for another one */
  async #chainFor(action) {
    if (this.#workers?.action !== action) {
      await this.#workers?.chain.close();
      const settings = { ledger: this.#place.ledger.url, stallAction: action };
      this.#workers = { action, chain: new WorkerChain(this.#place.database.url, settings) };
    }
    return this.#workers.chain;
  }

  /** What went wrong in one round is not to be found again in the next. */
  async #startAfresh() {
    await this.#workers?.chain.close();
    this.#workers = undefined;
    await this.#client.query('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  }
}
