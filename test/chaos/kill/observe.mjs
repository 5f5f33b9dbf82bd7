// @ts-check
// What the tables and the ledger say about a run.

import { brokenInvariants } from '../../support/invariants.mjs';

/**
 * @typedef {import('./ledger.mjs').Effect} Effect
 *
 * @typedef {object} Row
 * @property {string} step
 * @property {number} attempt
 * @property {number} member
 * @property {string} status
 * @property {Date | null} ended
 * @property {string | null} error its class
 *
 * @typedef {object} Story all that there is about a run
 * @property {string} workflow its class
 * @property {string} status
 * @property {Row[]} rows oldest first, each fan-out before its members
 * @property {{ name: string, detection: string | null }[]} events
 * @property {{ step: string, attempt: number }[]} written by transactional steps
 * @property {Effect[]} effects
 */

const RUN = `select status, workflow_class from workflows where id = $1`;
const ROWS = `
  select step_name as step, attempt, member_index as member, status, finished_at as ended, error_class as error
  from workflow_steps where workflow_id = $1 order by coalesce(parent_step_id, id), member_index`;
const EVENTS = `select name, details->>'detection' as detection from workflow_events where workflow_id = $1 order by id`;
const WRITTEN = `select step, attempt from written where run = $1`;

/**
 * @param {import('pg').Client} client on the workflow database
 * @param {import('./ledger.mjs').Ledger} ledger
 * @param {string} run
 * @returns {Promise<Story>}
 */
export async function storyOf(client, ledger, run) {
  const of = async (/** @type {string} */ query) => (await client.query(query, [run])).rows;
  const [found] = await of(RUN);
  return {
    workflow: found?.workflow_class ?? 'gone',
    status: found?.status ?? 'gone',
    rows: await of(ROWS),
    events: await of(EVENTS),
    written: await of(WRITTEN),
    effects: await ledger.of(run),
  };
}

/**
 * In a line: where the run stands, its rows, whose effects happened, and (when there are any) which steps wrote in their transaction.
 *
 * @param {Story} story
 */
export function stateOf({ status, rows, effects, written }) {
  const done = [...new Set(effects.filter(({ kind }) => kind === 'plain').map(nameOf))];
  const state = `${status}: ${rows.map((row) => `${nameOf(row)} ${row.status}`).join(', ')}; done: ${done.join(', ') || 'nothing'}`;
  return written.length ? `${state}; written: ${written.map(({ step }) => step).join(', ')}` : state;
}

/** @param {{ step: string, member: number }} row */
function nameOf({ step, member }) {
  return member < 0 ? step : `${step}[${member}]`;
}

/**
 * How often the effects of completed steps and members happened, one figure each.
 *
 * @typedef {{ plain: number[], keyed: number[], transactional: number[] }} Counts
 */

/**
 * @typedef {'StepStalledError' | 'FanOutFailedError' | null} Failure
 *
 * @typedef {object} Expected
 * @property {Failure} failure what one attempt, and only one, has failed with
 * @property {number} late outcomes that came too late
 */

/**
 * Holds rows, trail and ledger against each other: what completed has had its effects, keyed and transactional ones exactly once, and
 * nothing of it happened again once it had completed.
 *
 * @param {Story} story
 * @param {Expected} expected
 * @returns {{ problems: string[], counts: Counts }}
 */
export function audit(story, expected) {
  const { workflow, rows, effects, written } = story;
  const problems = failuresIn(story, expected);
  /** @type {Counts} */
  const counts = { plain: [], keyed: [], transactional: [] };
  const completed = rows.filter(({ status }) => status === 'completed');
  for (const row of completed) {
    const what = `${nameOf(row)} attempt ${row.attempt}`;
    const own = effects.filter(({ step, member }) => step === row.step && member === row.member);
    const plain = own.filter(({ kind }) => kind === 'plain');
    const keyed = own.filter(({ kind }) => kind === 'keyed').length;
    if (!plain.some(({ attempt }) => attempt === row.attempt))
      problems.push(`${what} completed, and has had no effect`);
    if (keyed !== 1) problems.push(`the keyed effect of ${what} happened ${keyed} times`);
    counts.plain.push(plain.length);
    counts.keyed.push(keyed);
    // A new batch, opened by a new attempt, runs all of its members: only the same attempt's count.
    const again = plain.filter(
      ({ at, attempt }) => at > /** @type {Date} */ (row.ended) && (row.member < 0 || attempt === row.attempt),
    );
    if (again.length) problems.push(`${what} had completed, and its effect happened again`);
  }
  for (const { tries, who } of timesOf(effects)) {
    if (tries > 1) problems.push(`the body of ${who} ran ${tries} times`);
  }
  for (const row of completed.filter(({ step }) => workflow === 'Transactional' && step === 'two')) {
    const own = written.filter(({ step }) => step === row.step);
    counts.transactional.push(own.length);
    if (own.length !== 1 || own[0].attempt !== row.attempt) {
      problems.push(`what ${row.step} wrote in its transaction is there ${own.length} times`);
    }
  }
  return { problems, counts };
}

/**
 * @param {Story} story
 * @param {Expected} expected
 * @returns {string[]}
 */
function failuresIn({ rows, events }, { failure, late }) {
  const failed = rows.flatMap(({ status, member, error }) => (status === 'failed' && member < 0 ? [error] : []));
  const count = (/** @type {string} */ event) => events.filter(({ name }) => name === event).length;
  const found = { failed, stalls: count('stall_detected'), late: count('late_completion_ignored') };
  const right = { failed: failure ? [failure] : [], stalls: failure === 'StepStalledError' ? 1 : 0, late };
  if (JSON.stringify(found) === JSON.stringify(right)) return [];
  return [
    `attempts that failed, stalls, late completions: ${JSON.stringify(found)} instead of ${JSON.stringify(right)}`,
  ];
}

/**
 * How often the body of each attempt, each try of a member, has run.
 *
 * @param {Effect[]} effects
 */
function timesOf(effects) {
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const effect of effects) {
    if (effect.kind !== 'plain') continue;
    const who = `${nameOf(effect)} attempt ${effect.attempt} try ${effect.tried}`;
    times.set(who, (times.get(who) ?? 0) + 1);
  }
  return [...times].map(([who, tries]) => ({ who, tries }));
}

/** @param {import('pg').Client} client */
export function invariantsBroken(client) {
  return brokenInvariants({ query: async (sql) => (await client.query(sql)).rows });
}

/**
 * All of it, for somebody who must find out what went wrong.
 *
 * @param {Story} story
 */
export function tell({ status, workflow, rows, events, effects, written }) {
  const time = (/** @type {Date | null} */ at) => at?.toISOString().slice(11, 23) ?? '';
  return [
    `${workflow} is ${status}`,
    ...rows.map(
      (row) => `  ${nameOf(row)} attempt ${row.attempt}: ${row.status} ${time(row.ended)} ${row.error ?? ''}`,
    ),
    `  events: ${events.map(({ name }) => name).join(', ')}`,
    ...effects.map(
      (effect) =>
        `  ${time(effect.at)} ${effect.kind} effect of ${nameOf(effect)} attempt ${effect.attempt} try ${effect.tried}`,
    ),
    ...written.map((row) => `  written by ${row.step} attempt ${row.attempt}`),
  ].join('\n');
}
