// @ts-check
// After the storm: everything that is paused is resumed, everything that waits gets its signal, until nothing moves any more.

import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidTransitionError, NotOngoingError } from 'nestjs-pg-workflows';

/** A run that is paused on the same step after so many resumes has a reason that resuming does not mend. */
const RESUMES = 4;
const AT_ONCE = 8;
const LOOK_EVERY_MS = 200;
const TELL_EVERY_MS = 2_000;

/**
 * @typedef {{ id: string, status: string, step: string, wait_for: string | null }} OpenRun
 * @typedef {import('nestjs-pg-workflows').WorkflowService} WorkflowService
 */

/**
 * @param {WorkflowService} workflows
 * @param {import('../support/database.mjs').ChaosDatabase} database
 * @param {number} patience milliseconds without any change: what stands still for so long is left to the verdict
 * @param {(line: string) => void} say
 */
export async function drain(workflows, database, patience, say) {
  /** @type {Map<string, number>} */
  const resumed = new Map();
  let last = '';
  let changed = performance.now();
  let told = performance.now();
  for (;;) {
    const open = await openRuns(database);
    const moving = open.filter(({ status }) => status !== 'paused');
    const toResume = open.filter(
      ({ id, status, step }) => status === 'paused' && (resumed.get(`${id}/${step}`) ?? 0) < RESUMES,
    );
    const waiting = moving.filter(({ wait_for }) => wait_for !== null);
    if (!moving.length && !toResume.length && !(await openMembers(database))) return;
    const now = performance.now();
    const picture = JSON.stringify(open);
    if (picture !== last) changed = now;
    last = picture;
    if (now - changed > patience) return;
    if (now - told > TELL_EVERY_MS) {
      say(`${moving.length} runs still move, ${toResume.length} are to be resumed`);
      told = now;
    }
    await inTurn(toResume, async ({ id, step }) => {
      const key = `${id}/${step}`;
      resumed.set(key, (resumed.get(key) ?? 0) + 1);
      await unlessMovedOn(async () => (await workflows.find(id)).resume({ actor: 'drain' }));
    });
    await inTurn(waiting, ({ id, wait_for }) =>
      unlessMovedOn(async () =>
        (await workflows.find(id)).signal(/** @type {string} */ (wait_for), { amount: 99 }, { actor: 'drain' }),
      ),
    );
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * @param {import('../support/database.mjs').ChaosDatabase} database
 * @returns {Promise<OpenRun[]>}
 */
function openRuns(database) {
  return database.query(
    `select w.id, w.status, w.current_step as step, s.wait_for
     from workflows w left join workflow_steps s on s.workflow_id = w.id and s.status = 'waiting' and s.batch_size is null
     where w.ended_at is null order by w.id`,
  );
}

/**
 * Members of a run that was cancelled, or whose step was skipped, run to their own end.
 *
 * @param {import('../support/database.mjs').ChaosDatabase} database
 */
async function openMembers(database) {
  const [{ open }] = await database.query(
    `select exists (select from workflow_steps where parent_step_id is not null and status in ('scheduled', 'in_progress')) as open`,
  );
  return open;
}

/**
 * @template T
 * @param {readonly T[]} list
 * @param {(one: T) => Promise<unknown>} act
 */
async function inTurn(list, act) {
  const left = [...list];
  const next = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await act(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

/** @param {() => Promise<unknown>} act */
async function unlessMovedOn(act) {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof InvalidTransitionError || error instanceof NotOngoingError)) throw error;
  }
}
