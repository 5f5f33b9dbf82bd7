import type { EngineParts } from '../engine/engine.parts.js';
import { sqlStateOf } from '../store/sql-state.js';
import { patiently } from '../store/patience.js';
import { hasOpenMember } from '../store/batches.js';
import { settleMembers, storedEnds, type MemberEnd, type SettledMember } from '../store/members.js';
import type { Wakeup } from '../store/wakeup.js';
import { messageOf } from './message-of.js';
import { workflowLogger } from '../observe/log.js';

const LARGEST_FLUSH = 256;

interface Waiting {
  readonly end: MemberEnd;
  readonly done: (settled: boolean | Promise<boolean>) => void;
}

/** A batch of which no member is open any more. */
export interface EndedBatch {
  readonly id: string;
  readonly workflowId: string;
}

/**
 * Settles members in sets, as steps are; after each set that committed, asks once a batch whether a member is still open, and has the
 * batch joined when none is.
 */
export class MemberQueue {
  private readonly logger = workflowLogger;
  private waiting: Waiting[] = [];
  private flushing = false;

  constructor(
    private readonly parts: EngineParts,
    private readonly wakeup: Wakeup,
    private readonly ended: (batch: EndedBatch) => void,
  ) {}

  /** Resolves once the end is stored, and its batch was asked after; false: the member was no longer ours. */
  settle(end: MemberEnd): Promise<boolean> {
    return new Promise((done) => {
      this.waiting.push({ end, done });
      if (!this.flushing) void this.flush();
    });
  }

  private async flush(): Promise<void> {
    this.flushing = true;
    // Members that end in the same turn of the event loop travel together.
    await new Promise(setImmediate);
    while (this.waiting.length) await this.flushSet(this.waiting.splice(0, LARGEST_FLUSH));
    this.flushing = false;
  }

  private async flushSet(set: readonly Waiting[]): Promise<void> {
    let settled: SettledMember[];
    try {
      settled = await this.send(set);
    } catch (error) {
      // The database refused the set: for a value, a deadlock with rows that are deleted. What one is refused for must not keep the others.
      if (set.length > 1 && sqlStateOf(error) !== undefined) {
        for (const one of set) await this.flushSet([one]);
      } else {
        for (const { done } of set) done(Promise.reject(error));
      }
      return;
    }
    // Before anybody is told: a stop waits for the members in hand, and must not overtake the join of their batch.
    await this.follow(settled).catch((error: unknown) =>
      this.logger.error(
        `Members have ended; whether their batches are over could not be asked, and will be: ${messageOf(error)}`,
      ),
    );
    const stored = new Set(settled.map(({ id }) => id));
    for (const { end, done } of set) done(stored.has(end.id));
  }

  /** Sent again after an answer that was lost, it finds nothing to do: what was stored the first time is looked up. */
  private send(set: readonly Waiting[]): Promise<SettledMember[]> {
    const ends = set.map(({ end }) => end);
    const { database, settings } = this.parts;
    return patiently(database, (doubtful) =>
      database.engineConnect(async (connection) => {
        const settled = await settleMembers(connection, ends, settings.stallThreshold);
        if (!doubtful || settled.length === ends.length) return settled;
        const stored = new Set(settled.map(({ id }) => id));
        return [
          ...settled,
          ...(await storedEnds(
            connection,
            ends.filter(({ id }) => !stored.has(id)),
          )),
        ];
      }),
    );
  }

  private async follow(settled: readonly SettledMember[]): Promise<void> {
    for (const { status, queue, priority } of settled) {
      if (status === 'scheduled') this.wakeup.announce([{ kind: 'due', queue, priority, dueIn: RETRY_LOOK_MS }]);
    }
    const batches = new Map(
      settled
        .filter(({ status }) => status !== 'scheduled')
        .map(({ parent_step_id: id, workflow_id: workflowId }) => [id, { id, workflowId }]),
    );
    for (const batch of batches.values()) {
      const open = await patiently(this.parts.database, () =>
        this.parts.database.engineConnect((connection) => hasOpenMember(connection, batch.id)),
      );
      if (!open) this.ended(batch);
    }
  }
}

/** The claim's answer says when the retry is really due; this only has it looked at. */
const RETRY_LOOK_MS = 1;
