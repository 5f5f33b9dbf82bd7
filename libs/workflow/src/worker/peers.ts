import { createHash } from 'node:crypto';
import { monotonic } from './monotonic.js';

/** So many look at once, on the average, for each row that all were told of: one takes it, and some may be busy. */
const FIRST = 4;
/** The others look within this, or at their next poll. */
const LATER_MS = 1_000;

/** What a worker looks for; two that look for the same say the same. */
export function kindOf(queues: readonly string[] | null, handlers: readonly string[]): string {
  const content = JSON.stringify([queues && queues.toSorted(), handlers.toSorted()]);
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/**
 * The workers that hear what this one hears and look for the same. A notification reaches them all, and so does the moment at which a row comes
 * due; when there are many, most leave it to a few, chosen by lot, and look a little later. Up to four never wait.
 *
 * They are known by the notification that each listener sends to itself now and then. Who is not known (yet) is one more that looks, who is gone one
 * less: it is about work only, never about whether a row is found.
 */
export class Peers {
  private readonly heardAt = new Map<string, number>();

  constructor(
    /** As `kindOf` says it. */
    readonly kind: string,
    /** Milliseconds: who was silent for longer is gone. */
    private readonly lifetime: number,
    private readonly random: () => number = Math.random,
  ) {}

  heard(sender: string, kind: string): void {
    if (kind === this.kind) this.heardAt.set(sender, monotonic());
  }

  /** This one among them. */
  get count(): number {
    const gone = monotonic() - this.lifetime;
    for (const [sender, at] of this.heardAt) if (at < gone) this.heardAt.delete(sender);
    return this.heardAt.size + 1;
  }

  /** Milliseconds for which to leave to others the rows that all were told of; 0: this one is to look at once. */
  pause(rows: number): number {
    const { count, random } = this;
    return count <= FIRST * rows || random() < (FIRST * rows) / count ? 0 : random() * LATER_MS;
  }
}
