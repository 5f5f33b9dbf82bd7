// @ts-check
// What the storm left behind, held against what was promised.

import { brokenInvariants } from '../../support/invariants.mjs';
import { readLedgers } from '../support/ledger.mjs';
import { countsOf, runsByStatus } from './counts.mjs';
import { TASK_TRIES } from './workflows.mjs';

/** What may stand on a failed row: errors of the storm's bodies, the engine's own, and those of a connection that went away. */
const KNOWN_ERRORS = new Set([
  'Hiccup',
  'Lasting',
  'Stubborn',
  'GuardFailure',
  'StepStalledError',
  'WaitTimedOutError',
  'FanOutFailedError',
]);
/** How often a transactional body may begin in one attempt: again after a deadlock, and when its connection was lost with what it wrote (AMB-62). */
const TRANSACTIONAL_TRIES = 3;
/** The longest list of one kind that is told. */
const MOST = 5;

/**
 * @typedef {import('../support/database.mjs').ChaosDatabase} ChaosDatabase
 * @typedef {object} Evidence
 * @property {import('./course.mjs').StormOptions} options
 * @property {ChaosDatabase} database
 * @property {import('./course.mjs').Tally} tally
 * @property {import('../support/workers.mjs').Workers} workers
 * @property {import('./outages.mjs').Outages} outages
 */

/** @param {Evidence} evidence */
export async function verdict({ options, database, tally, workers, outages }) {
  const { query } = database;
  const executions = await compareWithLedger(database, options.folder);
  const problems = [
    ...short('', tally.problems),
    ...short('', workers.problems),
    ...short('', await brokenInvariants({ query })),
    ...(await startedOnce(database, options, tally)),
    ...(await endedOrPausedForAReason(database)),
    ...(await noMemberLeft(database)),
    ...(await noCompletedStepAgain(database)),
    ...(await onlyTheDeadStalled(database, workers.killed)),
    ...(await effectsOfCompletedOnly(database)),
    ...executions.problems,
  ];
  const events = await countsOf(
    database,
    `select name || coalesce(' ' || (details->>'detection'), '') as what, count(*)::int as count from workflow_events group by 1`,
  );
  return {
    ok: problems.length === 0,
    problems,
    seed: options.seed,
    started: tally.started,
    reruns: tally.reruns,
    runs: await runsByStatus(database),
    pausedFor: await countsOf(
      database,
      `select s.error_class as what, count(*)::int as count
       from workflows w join lateral (select error_class from workflow_steps s
         where s.workflow_id = w.id and s.member_index = -1 order by s.id desc limit 1) s on true
       where w.status = 'paused' group by 1`,
    ),
    kills: workers.kills,
    boots: workers.boots,
    restarts: outages.count,
    stalls: { lease: events['stall_detected lease'] ?? 0, sweep: events['stall_detected sweep'] ?? 0 },
    lateCompletions: events.late_completion_ignored ?? 0,
    deadlocks: tally.deadlocks,
    verbs: tally.verbs,
    errors: await countsOf(
      database,
      `select error_class as what, count(*)::int as count from workflow_steps where error_class is not null group by 1`,
    ),
    ...executions.counts,
    events: Object.values(events).reduce((sum, count) => sum + count, 0),
  };
}

/**
 * @param {ChaosDatabase} database
 * @param {import('./course.mjs').StormOptions} options
 * @param {import('./course.mjs').Tally} tally
 */
async function startedOnce({ query }, { runs }, { reruns }) {
  const [row] = await query(
    `select count(*) filter (where rerun_of is null)::int as started, count(rerun_of)::int as reruns from workflows`,
  );
  // The answer to a rerun may be lost, and a rerun has no key to be asked again with.
  return [
    ...(row.started === runs ? [] : [`${runs} runs were started, the table has ${row.started}`]),
    ...(row.reruns >= reruns ? [] : [`${reruns} reruns were answered, the table has ${row.reruns}`]),
  ];
}

/** @param {ChaosDatabase} database */
async function endedOrPausedForAReason({ query }) {
  const standing = await query(
    `select w.id, w.workflow_class, w.status, s.step_name, s.status as step_status, s.worker, s.available_at, s.wait_for
     from workflows w left join workflow_steps s on s.workflow_id = w.id and s.member_index = -1 and s.finished_at is null
     where w.ended_at is null and w.status <> 'paused'`,
  );
  const nameless = await query(
    `select w.id, w.workflow_class, s.step_name, s.status as step_status
     from workflows w
     join lateral (select * from workflow_steps s where s.workflow_id = w.id and s.member_index = -1 order by s.id desc limit 1) s on true
     join lateral (select actor from workflow_events e where e.workflow_id = w.id and e.name = 'paused' order by e.id desc limit 1) p on true
     where w.status = 'paused' and not (s.status = 'failed' and s.error_class is not null) and p.actor = 'system'`,
  );
  const strange = await query(
    `select error_class, error_message, count(*)::int as rows, min(workflow_id::text) as "for example" from workflow_steps
     where error_class is not null and error_class <> all($1) group by 1, 2`,
    [[...KNOWN_ERRORS]],
  );
  return [
    ...short('a run stands still: ', standing.map(shown)),
    ...short('a run is paused for no named reason: ', nameless.map(shown)),
    ...short(
      'an error that nobody threw on purpose: ',
      strange.filter(({ error_message: message }) => !ofAnOutage(message)).map(shown),
    ),
  ];
}

/** @param {string} message */
function ofAnOutage(message) {
  return /terminat|connection|ECONN|recovery mode|starting up|shutting down|aborted|Query read timeout/i.test(message);
}

/** @param {ChaosDatabase} database */
async function noMemberLeft({ query }) {
  const open = await query(
    `select id, workflow_id, status, job_attempt, worker, available_at from workflow_steps
     where parent_step_id is not null and status not in ('completed', 'failed')`,
  );
  return short('a member of a fan-out neither completed nor was dead-lettered: ', open.map(shown));
}

/**
 * Only `resumeAt` runs a completed step again: between the two attempts the trail has a `resumed` that names a step.
 *
 * @param {ChaosDatabase} database
 */
async function noCompletedStepAgain({ query }) {
  const again = await query(
    `select a.workflow_id, a.step_name, a.attempt
     from workflow_steps a
     join workflow_steps b on b.workflow_id = a.workflow_id and b.step_name = a.step_name and b.attempt = a.attempt + 1
       and b.member_index = -1
     join lateral (select max(id) as id from workflow_events e where e.workflow_id = a.workflow_id and e.step_id = a.id
       and e.name = 'step_completed') ended on true
     join lateral (select min(id) as id from workflow_events e where e.workflow_id = b.workflow_id and e.step_id = b.id
       and e.name = 'step_scheduled') scheduled on true
     where a.member_index = -1 and a.status = 'completed'
       and not exists (select from workflow_events e where e.workflow_id = a.workflow_id and e.name = 'resumed'
         and e.details->>'step' is not null and e.id between ended.id and scheduled.id)`,
  );
  return short('a completed step ran again, and nobody resumed there: ', again.map(shown));
}

/**
 * @param {ChaosDatabase} database
 * @param {ReadonlySet<number>} killed
 */
async function onlyTheDeadStalled({ query }, killed) {
  const stalled = await query(
    `select e.workflow_id, s.step_name, s.attempt, s.worker, s.started_at, e.created_at as at, e.details->>'detection' as detection
     from workflow_events e join workflow_steps s on s.id = e.step_id where e.name = 'stall_detected'`,
  );
  const living = stalled.filter(({ worker }) => !killed.has(pidOf(worker)));
  return short('a step of a worker that was alive was declared stalled: ', living.map(shown));
}

/**
 * What a transactional body wrote is there if and only if its attempt completed.
 *
 * @param {ChaosDatabase} database
 */
async function effectsOfCompletedOnly({ query }) {
  const wrong = await query(
    `select s.workflow_id, s.step_name, s.attempt, s.status, count(f.step)::int as effects
     from workflow_steps s left join storm_effects f on f.workflow_id = s.workflow_id and f.step = s.step_name and f.attempt = s.attempt
     where s.handler = 'StormBooks' and s.step_name <> 'plain' and s.member_index = -1
     group by s.id having count(f.step) <> case when s.status = 'completed' then 1 else 0 end`,
  );
  const orphaned = await query(
    `select f.* from storm_effects f where not exists (select from workflow_steps s
       where s.workflow_id = f.workflow_id and s.step_name = f.step and s.attempt = f.attempt)`,
  );
  return [
    ...short('what a transactional step wrote and what became of it differ: ', wrong.map(shown)),
    ...short('a transactional step wrote, and left no attempt: ', orphaned.map(shown)),
  ];
}

/**
 * The bodies that ran, by their own witness, against the rows.
 *
 * @param {ChaosDatabase} database
 * @param {string} folder
 */
async function compareWithLedger({ query }, folder) {
  /** @type {Map<string, { begun: number, ended: number, pids: Set<number> }>} */
  const bodies = new Map();
  /** @type {Map<string, number>} */
  const tries = new Map();
  for (const { what, key, pid } of readLedgers(folder)) {
    if (what === 'job') {
      tries.set(key, (tries.get(key) ?? 0) + 1);
      continue;
    }
    const body = bodies.get(key) ?? { begun: 0, ended: 0, pids: new Set() };
    if (what === 'begin') body.begun += 1;
    else body.ended += 1;
    body.pids.add(pid);
    bodies.set(key, body);
  }
  const attempts = await query(
    `select 'wf:' || workflow_id || ':' || step_name || ':' || attempt as key, status, claim_no, worker,
       handler = 'StormBooks' and step_name <> 'plain' as transactional
     from workflow_steps where member_index = -1`,
  );
  const members = await query(
    `select id::text, status, job_attempt from workflow_steps where parent_step_id is not null`,
  );
  const rows = new Map(attempts.map((row) => [row.key, row]));
  const memberRows = new Map(members.map((row) => [row.id, row]));
  /** @type {Record<string, string[]>} */
  const wrong = {};
  const blame = (/** @type {string} */ what, /** @type {string} */ key) => (wrong[what] ??= []).push(key);

  for (const [key, { begun, pids }] of bodies) {
    const row = rows.get(key);
    if (begun > (row?.transactional ? TRANSACTIONAL_TRIES : 1)) blame('a body was run too often for one attempt', key);
    if (!row) blame('a body ran for an attempt that is not there', key);
    else if ([...pids].some((pid) => pid !== pidOf(row.worker)))
      blame('a body ran in another process than its row says', `${key} in ${[...pids].join()}, not ${row.worker}`);
  }
  for (const { key, status } of attempts) {
    if (status === 'completed' && !bodies.get(key)?.ended) blame('an attempt completed whose body did not', key);
  }
  for (const [key, count] of tries) {
    const [id = '', number] = key.split(':');
    const row = memberRows.get(id);
    if (count > 1) blame("a member's try was run twice", key);
    if (!row) blame('a job ran for a member that is not there', key);
    else if (Number(number) > row.job_attempt) blame('a job ran that its member does not count', key);
    if (Number(number) > TASK_TRIES) blame('a member was tried too often', key);
  }
  for (const { id, status, job_attempt } of members) {
    if (status === 'completed' && !tries.has(`${id}:${job_attempt}`)) blame('a member completed that did not run', id);
  }
  return {
    problems: Object.entries(wrong).flatMap(([what, keys]) => short(`${what}: `, keys)),
    counts: {
      attempts: attempts.length,
      bodies: bodies.size,
      bodiesThatThrewOrDied: [...bodies.values()].filter(({ begun, ended }) => begun > ended).length,
      members: members.length,
      memberTries: tries.size,
    },
  };
}

/** @param {string | null} worker `hostname:pid` */
function pidOf(worker) {
  return Number(worker?.split(':').at(-1));
}

/** @param {object} row */
function shown(row) {
  return JSON.stringify(row);
}

/**
 * @param {string} what
 * @param {string[]} list
 */
function short(what, list) {
  const told = list.slice(0, MOST).map((one) => `${what}${one}`);
  return list.length > MOST ? [...told, `${what || 'broken: '}${list.length - MOST} more`] : told;
}
