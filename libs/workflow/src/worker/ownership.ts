import { StepStalledError } from '../errors.js';
import type { InHand } from './in-hand.js';
import { monotonic } from './monotonic.js';

/**
 * Compares what the database says is ours, at each renewal, with what this process has in hand.
 *
 * - A row in hand that is missing from two lists running is no longer ours: its body is asked to stop.
 * - A row on the lists that this process does not know was claimed for it, and the answer was lost. It never began, and nobody else will
 *   begin it: the worker id is this process's alone. It is to be taken up.
 *
 * A single list proves neither: between its snapshot and our reading it, rows are claimed and settled.
 */
export class Ownership {
  private missing = new Map<object, number>();
  /** Rows on the lists that are not in hand, by id: which claim's, and when they were first met. */
  private strange = new Map<string, { readonly claimNo: number; readonly met: number }>();

  constructor(
    private readonly inHand: InHand,
    /** Ids of rows that were claimed for this process and never begun. */
    private readonly takeUp: (ids: string[]) => void,
  ) {
    inHand.added = (id) => this.strange.delete(id);
  }

  /** @param sentAt when the list was asked for (`monotonic()`) */
  compare(sentAt: number, rows: readonly (readonly [id: string, claimNo: number])[]): void {
    this.abortLost(sentAt, new Set(rows.map(([id, claimNo]) => keyOf(id, claimNo))));
    this.findNeverBegun(sentAt, rows);
  }

  private abortLost(sentAt: number, listed: ReadonlySet<string>): void {
    const before = this.missing;
    this.missing = new Map();
    for (const { work, since } of this.inHand.works()) {
      if (since >= sentAt || listed.has(keyOf(work.row.id, work.row.claimNo))) continue;
      const times = (before.get(work) ?? 0) + 1;
      this.missing.set(work, times);
      if (times < 2) continue;
      work.abort(
        new StepStalledError(
          `${work.label} is no longer this worker's: it was declared stalled, or ended from outside.`,
        ),
      );
    }
  }

  /**
   * A strange row counts when it is on a list that was asked for after it was first met, came into hand at no time since then, and no statement
   * that may have brought it (a claim, a settlement that goes on in place) is under way since before that.
   */
  private findNeverBegun(sentAt: number, rows: readonly (readonly [id: string, claimNo: number])[]): void {
    const before = this.strange;
    const now = monotonic();
    this.strange = new Map();
    const neverBegun: string[] = [];
    for (const [id, claimNo] of rows) {
      if (this.inHand.knows(id, claimNo)) continue;
      const known = before.get(id);
      const met = known?.claimNo === claimNo ? known.met : now;
      this.strange.set(id, { claimNo, met });
      if (sentAt > met && this.inHand.oldestClaim > met) neverBegun.push(id);
    }
    if (neverBegun.length) this.takeUp(neverBegun);
  }
}

function keyOf(id: string, claimNo: number): string {
  return `${id}:${claimNo}`;
}
