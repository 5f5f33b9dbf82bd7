import type { Abortable } from '../engine/abortable.js';

/** How long a body that was asked to stop may keep its slot. */
const SLOT_GRACE_MS = 1_000;

/** An attempt, or a fan-out's member. */
interface Work extends Abortable {
  readonly row: { readonly id: string };
}

interface Running {
  readonly work: Work;
  /** By the monotonic clock: from then on its slot is given to others. */
  readonly slotUntil: number;
}

/**
 * What this process has in hand: guarded rows whose transaction is open, and attempts and members from their claim until their settlement
 * is acknowledged. Each takes a slot of `concurrency`.
 *
 * A body that goes on past its time-out keeps its row, which is the sweep's to judge, but not its slot: bodies that never settle
 * must not stop the worker.
 */
export class InHand {
  /** Batches being joined: they take no slot, but a stop waits for them. */
  joins = 0;
  private readonly guarded = new Set<string>();
  private readonly running = new Map<string, Running>();

  constructor(private readonly stallThreshold: number) {}

  /** Slots taken now. */
  get slots(): number {
    const now = performance.now();
    let overdue = 0;
    for (const { slotUntil } of this.running.values()) if (slotUntil < now) overdue += 1;
    return this.guarded.size + this.running.size - overdue;
  }

  /** Attempts and guarded rows, overdue ones too. */
  get size(): number {
    return this.guarded.size + this.running.size + this.joins;
  }

  /** Left out of the next claim. */
  get guardedIds(): readonly string[] {
    return [...this.guarded];
  }

  addGuarded(id: string): void {
    this.guarded.add(id);
  }

  removeGuarded(id: string): void {
    this.guarded.delete(id);
  }

  /** @param timeout the body's, in milliseconds; null: the setting `stallThreshold` bounds it */
  add(work: Work, timeout: number | null): void {
    const limit = timeout ?? this.stallThreshold;
    this.running.set(work.row.id, { work, slotUntil: performance.now() + limit + SLOT_GRACE_MS });
  }

  remove(work: Work): void {
    this.running.delete(work.row.id);
  }

  abort(stepId: string, reason: unknown): void {
    this.running.get(stepId)?.work.abort(reason);
  }

  abortAll(reason: unknown): void {
    for (const { work } of this.running.values()) work.abort(reason);
  }
}
