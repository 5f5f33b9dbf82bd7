import { insertMembers, parkOnBatch } from '../store/batches.js';
import { currentRow, lockRun } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';
import { SYSTEM } from '../transition/by.js';
import { applyMove } from '../transition/change-run.js';
import { isOngoing } from '../model/states.js';
import type { MoveEvent } from '../store/move.js';
import { endAttempt, outcomeOf } from '../transition/outcomes.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import type { LiveBatch } from './live-batch.js';
import type { Settlement } from './settlement.js';

/**
 * Opens the batch that a fan-out's body added, in the transaction that parks its step: members become claimable with that commit. A batch
 * without members is over at once.
 */
export async function openBatch(
  { settings }: EngineParts,
  transaction: Transaction,
  { row: ours, step, workflow }: Attempt,
  { members }: LiveBatch,
  output: string | null,
): Promise<Settlement> {
  const { connection } = transaction;
  const run = await lockRun(connection, ours.workflowId);
  if (!run) return 'gone';
  const row = await currentRow(connection, run);
  const held = row?.id === ours.id && row.status === 'in_progress' && row.claim_no === ours.claimNo;
  if (!row || !held || !isOngoing(run.status)) return 'late';

  if (!members.length) {
    const move = endAttempt(workflow.definition, { run, row }, outcomeOf('completed', { output }), {
      defaultQueue: settings.queue,
    });
    const opened = event('fan_out_opened', { batch_id: row.id, size: 0 });
    const finished = event('fan_out_finished', { failed_jobs: 0, total_jobs: 0 });
    await applyMove(transaction, run, { ...move, events: [opened, finished, ...move.events] });
    return 'settled';
  }

  await insertMembers(connection, { id: row.id, workflowId: run.id, step: step.name, attempt: row.attempt }, members);
  await parkOnBatch(connection, { id: row.id, workflowId: run.id }, members.length, output);
  for (const { queue, priority, wait, rows } of lanesOf(members)) {
    transaction.announce({ kind: 'due', queue, priority, dueIn: wait, ...(rows > 1 && { rows }) });
  }
  return 'settled';
}

function event(name: MoveEvent['name'], details: Record<string, unknown>): MoveEvent {
  return { name, about: 'closed', actor: SYSTEM.actor, details };
}

/** Each lane once, with the earliest due time in it, and how many members. */
function lanesOf(members: LiveBatch['members']) {
  const lanes = new Map<string, { queue: string; priority: number; wait: number; rows: number }>();
  for (const { queue, priority, wait } of members) {
    const key = `${queue}\0${priority}`;
    const known = lanes.get(key);
    lanes.set(key, {
      queue,
      priority,
      wait: Math.min(wait, known?.wait ?? Infinity),
      rows: (known?.rows ?? 0) + 1,
    });
  }
  return lanes.values();
}
