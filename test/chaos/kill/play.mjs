// @ts-check
// One round: a run is started, its worker struck at a point, and what comes of it is held against what should.

import { randomUUID } from 'node:crypto';
import { audit, invariantsBroken, stateOf, storyOf, tell } from './observe.mjs';
import { eventually, inTime, Missed, Problem } from './patience.mjs';
import { workflows } from './workflows.mjs';

/**
 * @typedef {import('./points.mjs').Point} Point
 * @typedef {import('./lane.mjs').Round} Round
 * @typedef {import('./worker-chain.mjs').WorkerChain} WorkerChain
 * @typedef {import('./worker-process.mjs').WorkerProcess} WorkerProcess
 * @typedef {import('nestjs-pg-workflows').StallAction} StallAction
 *
 * @typedef {{ run: string, at: number, worker: WorkerProcess }} Struck a run's id, when its worker was struck, and which that was
 */

export class Play {
  #client;
  #application;
  #ledger;

  /**
   * @param {import('pg').Client} client of the workflows' database
   * @param {Awaited<ReturnType<typeof import('./application.mjs').openApplication>>} application
   * @param {import('./ledger.mjs').Ledger} ledger
   */
  constructor(client, application, ledger) {
    this.#client = client;
    this.#application = application;
    this.#ledger = ledger;
  }

  /**
   * @param {Point} point
   * @param {Round} round
   * @param {WorkerChain} chain
   */
  async play(point, round, chain) {
    const struck =
      point.does === 'cut' ? await this.#cut(point, chain) : await this.#strike(point, chain, round.recoveredBy);
    const { run, at, worker } = struck;
    try {
      await this.#watch(point, round, { run, at, worker: await chain.working() });
      if (point.does === 'freeze') worker.thaw();
      // Only then it has asked what became of what was not answered, or what it came back with, and said what it makes of it.
      if (point.does !== 'kill') await inTime(worker.rest(), 'the worker has nothing in hand any more');
    } finally {
      if (point.does === 'freeze') worker.kill();
      if (point.does !== 'cut') await worker.close();
    }
    await this.#check(point, round, run);
    if (round.end !== 'paused' || round.problems.length) return;
    // A person looks at the paused run, and has it go on.
    await (await this.#application.workflows.find(run)).resume();
    await this.#until(run, await chain.working(), 'is finished, resumed', ({ status }) => status === 'finished');
    round.resumed = true;
    await this.#check(point, round, run);
  }

  /**
   * Waits for what is to come of it.
   *
   * @param {Point} point
   * @param {Round} round
   * @param {Struck} struck with the worker that is to find it
   */
  async #watch(point, round, { run, at, worker }) {
    if (point.sweeps) await this.#letTimePass(run);
    if (point.follows === 'stall') {
      await this.#until(run, worker, 'is declared stalled', ({ stalls }) => stalls > 0);
      round.noticedMs = performance.now() - at;
    }
    round.end = endOf(point, round.action);
    await this.#until(run, worker, `is ${round.end}`, ({ status }) => status === round.end);
    round.overMs = performance.now() - at;
  }

  /**
   * Starts a run and has the worker's connection cut at the point. The worker goes on by itself.
   *
   * @param {Point} point
   * @param {WorkerChain} chain
   * @returns {Promise<Struck>}
   */
  async #cut(point, chain) {
    const worker = await chain.working();
    const moment = /** @type {NonNullable<Point['moment']>} */ (point.moment);
    const cut = worker.proxy.once(moment, (link) => link.cut());
    const run = moment.statement === 'wf_start' ? await this.#startBy(worker, point) : await this.#start(point);
    await inTime(cut.happened, 'the connection is cut');
    return { run, at: performance.now(), worker };
  }

  /**
   * Starts a run, has its worker killed (frozen) at the point, and brings in the next worker.
   *
   * @param {Point} point
   * @param {WorkerChain} chain
   * @param {Round['recoveredBy']} by
   * @returns {Promise<Struck>}
   */
  async #strike(point, chain, by) {
    const [worker, next] = await Promise.all([chain.working(), chain.next()]);
    let release = () => {};
    if (by === 'second') {
      await chain.open(next);
      // It is there, it judges and sweeps; what is due it leaves to the one that will die.
      release = next.proxy.hold('wf_claim');
    }
    try {
      if (point.moment) killAt(worker, point.moment);
      else await worker.order(point.does === 'freeze' ? 'freezeAt' : 'dieAt', point.place ?? '');
      const run = await this.#start(point);
      await inTime(point.does === 'freeze' ? worker.frozen : worker.ended, `it comes to the ${point.does}`);
      const at = performance.now();
      if (point.does === 'kill') await this.#connectionsGone(worker);
      const state = stateOf(await this.#story(run));
      if (point.leaves && state !== point.leaves && state !== point.orLeaves) {
        const Kind = point.missed?.test(state) ? Missed : Problem;
        throw new Kind(`The ${point.does} left  ${state}\n  instead of  ${point.leaves}`);
      }
      await chain.pass();
      if (by === 'restarted') await chain.open(next);
      // Its code is loaded while this round waits.
      void chain.next();
      return { run, at, worker };
    } catch (error) {
      worker.kill();
      await worker.close();
      throw error;
    } finally {
      release();
    }
  }

  /**
   * What the tables and the ledger must say once the run has ended, or paused for somebody.
   *
   * @param {Point} point
   * @param {Round} round
   * @param {string} run
   */
  async #check(point, round, run) {
    const story = await this.#story(run);
    const { problems, counts } = audit(story, { failure: failureOf(point), late: point.does === 'freeze' ? 1 : 0 });
    round.effects = counts;
    round.detections = story.events.flatMap(({ name, detection }) =>
      name === 'stall_detected' ? [String(detection)] : [],
    );
    round.problems.push(...problems, ...(await invariantsBroken(this.#client)));
    if (round.problems.length) round.problems.push(tell(story));
  }

  /**
   * @param {Point} point
   * @returns {Promise<string>} the run's id
   */
  async #start({ workflow }) {
    const { workflows: service, dataSource } = this.#application;
    if (workflow !== 'Gated') return (await service.start(workflows[workflow])).id;
    // Together with its signal: the gate finds it.
    return dataSource.transaction(async (manager) => {
      const run = await service.start(workflows[workflow], { manager });
      await run.signal('go', {}, { manager });
      return run.id;
    });
  }

  /**
   * The worker itself starts it, over the connection that is cut.
   *
   * @param {WorkerProcess} worker
   * @param {Point} point
   */
  async #startBy(worker, { workflow }) {
    const tag = randomUUID();
    const run = await inTime(worker.order('start', { workflow, args: { tag } }), 'a start is answered');
    const { rows } = await this.#client.query(`select id from workflows where arguments->>'tag' = $1`, [tag]);
    if (rows.length !== 1 || rows[0].id !== run) {
      throw new Problem(`The start answered ${run}, and there are ${JSON.stringify(rows)}`);
    }
    return run;
  }

  /** @param {string} run */
  #story(run) {
    return storyOf(this.#client, this.#ledger, run);
  }

  /**
   * What only a sweep finds, it finds after `stallThreshold`: all that is done was done that long ago.
   *
   * @param {string} run
   */
  async #letTimePass(run) {
    await this.#client.query(
      `update workflow_steps set finished_at = finished_at - interval '2 hours', waiting_since = waiting_since - interval '2 hours'
       where workflow_id = $1`,
      [run],
    );
    await this.#ledger.letTimePass(run);
  }

  /**
   * The server has noticed that its client is gone, and has ended what that had under way.
   *
   * @param {WorkerProcess} worker
   */
  async #connectionsGone({ proxy }) {
    const gone = async () => {
      const { rowCount } = await this.#client.query(
        'select from pg_stat_activity where datname = current_database() and client_port = any($1)',
        [[...proxy.serverPorts]],
      );
      return rowCount === 0;
    };
    if (!(await eventually(gone))) throw new Problem('The connections of the killed worker do not end');
  }

  /**
   * @param {string} run
   * @param {WorkerProcess} worker
   * @param {string} what
   * @param {(now: { status: string, stalls: number }) => boolean} condition
   */
  async #until(run, worker, what, condition) {
    const holds = async () => {
      if (!worker.isAlive) throw new Problem(`The worker ended by itself. Its log:\n${worker.log}`);
      const { rows } = await this.#client.query(
        `select w.status, (select count(*)::int from workflow_events e
                           where e.workflow_id = w.id and e.name = 'stall_detected') as stalls
         from workflows w where w.id = $1`,
        [run],
      );
      return condition(rows[0]);
    };
    if (await eventually(holds)) return;
    const story = tell(await this.#story(run));
    throw new Problem(`Waited in vain until the run ${what}.\n${story}\nThe worker's log:\n${worker.log}`);
  }
}

/**
 * @param {WorkerProcess} worker
 * @param {NonNullable<Point['moment']>} moment
 */
function killAt(worker, moment) {
  const { proxy } = worker;
  // What a commit made due, the same worker may claim in the instant before it is killed.
  if (moment.statement === 'commit') proxy.once({ ...moment, on: 'request' }, () => void proxy.hold('wf_claim'));
  proxy.once(moment, () => worker.kill());
}

/**
 * @param {Point} point
 * @param {StallAction} action
 */
function endOf({ follows }, action) {
  if (follows === 'nothing') return 'finished';
  if (follows === 'dead letter') return 'paused';
  return { pause: 'paused', reattempt: 'finished', cancel: 'cancelled' }[action];
}

/**
 * The class of the error that one attempt of the run has failed with; null: none has.
 *
 * @param {Point} point
 * @returns {import('./observe.mjs').Failure}
 */
function failureOf({ follows }) {
  /** @type {Record<Point['follows'], import('./observe.mjs').Failure>} */
  const failures = { nothing: null, stall: 'StepStalledError', 'dead letter': 'FanOutFailedError' };
  return failures[follows];
}
