import type { Abortable } from '../engine/abortable.js';
import { monotonic } from './monotonic.js';

/** How long a body that was asked to stop may keep its slot. */
const SLOT_GRACE_MS = 1_000;

/** An attempt, or a fan-out's member. */
export interface Work extends Abortable {
  readonly label: string;
  readonly row: { readonly id: string; readonly claimNo: number };
}

interface Running {
  readonly work: Work;
  /** `monotonic()` as it came into hand. */
  readonly since: number;
  /** From then on its slot is given to others. */
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
  /** Told of each row that comes into hand. */
  added: (id: string) => void = () => undefined;
  /** Batches being joined: they take no slot, but a stop waits for them. */
  joins = 0;
  private readonly guarded = new Set<string>();
  private readonly running = new Map<string, Running>();
  /** By id, the claim whose end could not be stored. */
  private readonly abandoned = new Map<string, number>();
  /** When the statements began that may bring rows into hand, and have not returned. */
  private readonly claims = new Set<{ readonly since: number }>();

  constructor(private readonly stallThreshold: number) {}

  /** Slots taken now. */
  get slots(): number {
    const now = monotonic();
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
    this.added(id);
    this.guarded.add(id);
  }

  knowsGuarded(id: string): boolean {
    return this.guarded.has(id);
  }

  removeGuarded(id: string): void {
    this.guarded.delete(id);
  }

  /** Its body ran, and its end could not be stored: nobody may take it for one that never began. */
  abandon(work: Work): void {
    this.abandoned.set(work.row.id, work.row.claimNo);
  }

  /** Attempts and members in hand, and since when. */
  works(): Iterable<{ readonly work: Work; readonly since: number }> {
    return this.running.values();
  }

  /** Whether this process has, or had, to do with that claim of the row. */
  knows(id: string, claimNo: number): boolean {
    return this.running.has(id) || this.guarded.has(id) || this.abandoned.get(id) === claimNo;
  }

  /** When the oldest statement began that may bring rows into hand and has not returned; Infinity: there is none. */
  get oldestClaim(): number {
    let oldest = Infinity;
    for (const { since } of this.claims) oldest = Math.min(oldest, since);
    return oldest;
  }

  /** Runs what may bring rows into hand; they must be there when it has ended. */
  async claiming<T>(claim: () => Promise<T>): Promise<T> {
    const one = { since: monotonic() };
    this.claims.add(one);
    try {
      return await claim();
    } finally {
      this.claims.delete(one);
    }
  }

  /** @param timeout the body's, in milliseconds; null: the setting `stallThreshold` bounds it */
  add(work: Work, timeout: number | null): void {
    const limit = timeout ?? this.stallThreshold;
    const since = monotonic();
    this.added(work.row.id);
    this.running.set(work.row.id, { work, since, slotUntil: since + limit + SLOT_GRACE_MS });
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
