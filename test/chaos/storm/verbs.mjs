// @ts-check
// What people and programs do to runs while the storm lasts.

import { randomUUID } from 'node:crypto';
import { AlreadyRunningError, InvalidTransitionError, NotOngoingError } from 'nestjs-pg-workflows';
import { MIX } from './workflows.mjs';

/**
 * @typedef {import('nestjs-pg-workflows').WorkflowHandle} Run
 * @typedef {import('../support/random.mjs').Random} Random
 * @typedef {object} Verb
 * @property {string} name
 * @property {number} weight
 * @property {(run: Run, random: Random, actor: string) => Promise<unknown>} issue a `rerun` answers with the new run
 */

const STEPS = new Map(MIX.map(({ name, steps }) => [name, steps]));
const SIGNALS = /** @type {const} */ ([
  ['go', {}],
  ['paid', { amount: 1 }],
  ['paid', { amount: 99 }],
  ['shipped', {}],
]);

/** Resumed more often than paused, so that most runs get on. @type {readonly Verb[]} */
const VERBS = [
  { name: 'pause', weight: 12, issue: (run, _, actor) => run.pause({ actor, reason: 'the storm' }) },
  { name: 'resume', weight: 30, issue: (run, _, actor) => run.resume({ actor }) },
  { name: 'resume_at', weight: 4, issue: (run, random, actor) => run.resumeAt(random.pick(stepsOf(run)), { actor }) },
  { name: 'cancel', weight: 2, issue: (run, _, actor) => run.cancel({ actor }) },
  { name: 'run_now', weight: 10, issue: (run, _, actor) => run.runNow({ actor }) },
  {
    name: 'reschedule',
    weight: 8,
    issue: (run, random, actor) => run.reschedule(new Date(Date.now() + random.whole(400) - 100), { actor }),
  },
  { name: 'skip', weight: 3, issue: (run, _, actor) => run.skip({ actor }) },
  { name: 'signal', weight: 30, issue: signal },
  { name: 'rerun', weight: 1, issue: (run, _, actor) => run.rerun({ actor }) },
];

/** @param {Random} random */
export function pickVerb(random) {
  return random.weighted(VERBS.map((verb) => /** @type {const} */ ([verb, verb.weight])));
}

/**
 * One in five is delivered twice.
 *
 * @param {Run} run
 * @param {Random} random
 * @param {string} actor
 */
async function signal(run, random, actor) {
  const [name, payload] = random.pick(SIGNALS);
  const options = { actor, idempotencyKey: randomUUID() };
  await run.signal(name, payload, options);
  if (random.next() < 0.2) await run.signal(name, payload, options);
}

/**
 * The run had moved on, and said so.
 *
 * @param {unknown} error
 */
export function isRefusal(error) {
  return (
    error instanceof InvalidTransitionError || error instanceof NotOngoingError || error instanceof AlreadyRunningError
  );
}

/** @param {Run} run */
function stepsOf(run) {
  return /** @type {readonly string[]} */ (STEPS.get(run.workflowName));
}
