// @ts-check
// What must hold whenever nothing is under way: a query each, run after every test of a database suite and at the end of
// test/chaos. "Steps" are attempts, never the members of a fan-out.

const OPEN = `s.parent_step_id is null and s.status in ('scheduled', 'waiting', 'in_progress')`;

/**
 * Each finds what breaks the sentence before it.
 *
 * @type {Record<string, string>}
 */
const QUERIES = {
  'a ready, performing or waiting run has exactly one open step': `
    select w.id, w.status, (select count(*) from workflow_steps s where s.workflow_id = w.id and ${OPEN}) as open
    from workflows w where w.status in ('ready', 'performing', 'waiting')
      and (select count(*) from workflow_steps s where s.workflow_id = w.id and ${OPEN}) <> 1`,
  'a finished or cancelled run has no open step': `
    select w.id, w.status, s.step_name, s.status as step_status
    from workflows w join workflow_steps s on s.workflow_id = w.id and ${OPEN} where w.status in ('finished', 'cancelled')`,
  'a paused run has at most one open step': `
    select w.id from workflows w where w.status = 'paused'
      and (select count(*) from workflow_steps s where s.workflow_id = w.id and ${OPEN}) > 1`,
  'ready goes with scheduled, performing with in_progress, waiting with waiting': `
    select w.id, w.status, s.status as step_status from workflows w join workflow_steps s on s.workflow_id = w.id and ${OPEN}
    where (w.status = 'ready') <> (s.status = 'scheduled') and w.status <> 'paused'
       or (w.status = 'performing') <> (s.status = 'in_progress') and w.status <> 'paused'
       or (w.status = 'waiting') <> (s.status = 'waiting') and w.status <> 'paused'`,
  'the open step is an attempt of the current step': `
    select w.id, w.current_step, s.step_name from workflows w join workflow_steps s on s.workflow_id = w.id and ${OPEN}
    where s.step_name <> w.current_step`,
  'no pending signal lies beside an unpaused run that waits for its name': `
    select w.id, s.wait_for from workflows w join workflow_steps s on s.workflow_id = w.id and s.status = 'waiting'
    join workflow_signals g on g.workflow_id = w.id and g.status = 'pending' and g.name = s.wait_for
    where w.status = 'waiting'`,
  'a fan-out has ended if and only if none of its members is unfinished': `
    select s.id, s.status from workflow_steps s where s.batch_size is not null and s.status = 'waiting'
      and not exists (select from workflow_steps m where m.parent_step_id = s.id and m.status in ('scheduled', 'in_progress'))`,
  'a scheduled step may be claimed if and only if its run is not paused': `
    select w.id, w.status, s.available_at from workflows w join workflow_steps s on s.workflow_id = w.id and ${OPEN}
    where s.status = 'scheduled' and (w.status = 'paused') <> (s.available_at is null)`,
  'ended rows have an end, open ones have none': `
    select id::text from workflow_steps
    where (finished_at is not null) <> (status in ('completed', 'failed', 'cancelled', 'skipped'))
    union all select id::text from workflows where (ended_at is not null) <> (status in ('finished', 'cancelled'))`,
  'attempts of a step count 1, 2, 3 without gaps': `
    select workflow_id, step_name from workflow_steps where parent_step_id is null
    group by workflow_id, step_name having max(attempt) <> count(*) or min(attempt) <> 1`,
  'every event belongs to a run': `
    select e.workflow_id, e.name from workflow_events e where not exists (select from workflows w where w.id = e.workflow_id)`,
};

/**
 * What is broken, one line each; empty when all holds.
 *
 * @param {{ query(sql: string): Promise<any[]> }} database its rows, as a DataSource gives them
 * @returns {Promise<string[]>}
 */
export async function brokenInvariants(database) {
  /** @type {string[]} */
  const broken = [];
  for (const [sentence, query] of Object.entries(QUERIES)) {
    for (const row of await database.query(query)) broken.push(`${sentence}: ${JSON.stringify(row)}`);
  }
  /** @type {{ id: string, status: string, events: TrailEvent[] | null }[]} */
  const runs = await database.query(`
    select w.id, w.status,
      (select json_agg(json_build_object('name', e.name, 'step', e.details->>'step', 'action', e.details->>'action') order by e.id)
       from workflow_events e where e.workflow_id = w.id) as events
    from workflows w`);
  for (const { id, status, events } of runs) {
    const problem = problemOfTrail(events ?? [], status);
    if (problem) broken.push(`the trail of ${id} is a legal walk that ends at its status: ${problem}`);
  }
  return broken;
}

/** @typedef {{ readonly name: string, readonly step: string | null, readonly action: string | null }} TrailEvent */

/**
 * Walks a run's trail as a reader would, and says where it makes no sense.
 *
 * @param {readonly TrailEvent[]} events
 * @param {string} status
 * @returns {string | null}
 */
function problemOfTrail(events, status) {
  let run = 'none';
  /** @type {'none' | 'scheduled' | 'in_progress' | 'waiting'} */
  let row = 'none';
  /** @type {string[]} */
  const walked = [];
  for (const { name, step, action } of events) {
    const at = `${name} at ${run}/${row} after ${walked.join(', ')}`;
    walked.push(name);
    switch (name) {
      case 'started':
        if (run !== 'none') return at;
        run = 'ready';
        break;
      case 'step_scheduled':
        if (row !== 'none' || ['none', 'finished', 'cancelled'].includes(run)) return at;
        row = 'scheduled';
        if (run !== 'paused') run = 'ready';
        break;
      case 'step_started':
        if (run !== 'ready' || row !== 'scheduled') return at;
        run = 'performing';
        row = 'in_progress';
        break;
      case 'step_waiting':
        if (row === 'none') return at;
        row = 'waiting';
        if (run !== 'paused') run = 'waiting';
        break;
      case 'signal_claimed':
      case 'wait_timed_out':
        if (row === 'waiting' && (name === 'signal_claimed' || action === 'run')) {
          row = 'scheduled';
          if (run !== 'paused') run = 'ready';
        }
        break;
      case 'step_completed':
      case 'step_failed':
      case 'step_skipped':
      case 'step_reattempted':
        // Not only from in progress: a guard, a gravestone, a missing step or an outside skip ends a row that never started.
        if (row === 'none') return at;
        row = 'none';
        if (run !== 'paused') run = 'performing';
        break;
      case 'paused':
        if (!['ready', 'performing', 'waiting'].includes(run)) return at;
        run = 'paused';
        break;
      case 'resumed':
        if (run !== 'paused') return at;
        if (step !== null) row = 'none';
        run = { none: 'performing', scheduled: 'ready', in_progress: 'performing', waiting: 'waiting' }[row];
        break;
      case 'cancelled':
        if (!['ready', 'performing', 'waiting', 'paused'].includes(run)) return at;
        run = 'cancelled';
        row = 'none';
        break;
      case 'finished':
        if (!['performing', 'paused'].includes(run) || row !== 'none') return at;
        run = 'finished';
        break;
      case 'run_now':
      case 'rescheduled':
        if (run !== 'ready') return at;
        break;
      case 'rerun':
        if (!['finished', 'cancelled'].includes(run)) return at;
        break;
      default:
        break;
    }
  }
  if (run === status) return null;
  // A guard that threw leaves the row in progress without `step_started` until its policy has decided.
  if (run === 'ready' && status === 'performing') return null;
  return `it ends at ${run}, the run is ${status} (${walked.join(', ')})`;
}
