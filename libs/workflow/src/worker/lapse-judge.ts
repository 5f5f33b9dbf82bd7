import type { LapsedRow, ServerIdentity } from '../store/leases.js';

/**
 * Says whose worker is lost. It distrusts itself: after a restart, a crash recovery or a failover of the database, after a minute without it, after
 * this process or the database's clock stood still, every lease looks lapsed, and no worker is lost.
 *
 * So a lapse counts only after a full lease in which its own looks came at least every third of one, the database's clock and our monotonic
 * one went alike, and the server stayed the same (its start, its timeline, our backend). And it is seen twice.
 */
export class LapseJudge {
  private last: { readonly now: number; readonly server: Identity } | undefined;
  /** By our clock and by the database's. */
  private since: { readonly now: number; readonly at: number } | undefined;
  private suspects = new Map<string, { readonly id: string; readonly met: number }>();

  constructor(
    private readonly lease: number,
    private readonly apart: number,
  ) {}

  /**
   * @param now the monotonic clock as the look's answer came
   * @param page which rows were looked at, by their ids; default: all
   */
  judge(now: number, server: Identity, rows: readonly LapsedRow[], page: Page = EVERY_ROW): LapsedRow[] {
    if (!this.goesOn(now, server)) {
      this.since = { now, at: server.at };
      this.suspects.clear();
    }
    this.last = { now, server };
    if (now - this.since!.now < this.lease) return [];
    const before = this.suspects;
    const keyOf = ({ id, claim_no, lease }: LapsedRow) => `${id} ${claim_no} ${lease}`;
    const elsewhere = [...before].filter(([, { id }]) => !isOn(page, id));
    const here = rows.map((row) => [keyOf(row), { id: row.id, met: before.get(keyOf(row))?.met ?? now }] as const);
    this.suspects = new Map([...elsewhere, ...here]);
    return rows.filter((row) => now - this.suspects.get(keyOf(row))!.met >= this.apart);
  }

  private goesOn(now: number, server: Identity): boolean {
    if (!this.last || !this.since) return false;
    const third = this.lease / 3;
    const { server: before } = this.last;
    const byUs = now - this.since.now;
    const byServer = server.at - this.since.at;
    return (
      now - this.last.now <= Math.max(third, LEAST_THIRD_MS) &&
      Math.abs(byUs - byServer) <= third &&
      server.started === before.started &&
      server.timeline === before.timeline &&
      server.pid === before.pid
    );
  }
}

/** Rows after one and up to another; null: to the last. */
interface Page {
  readonly after: string;
  readonly upTo: string | null;
}

const EVERY_ROW: Page = { after: '0', upTo: null };

function isOn({ after, upTo }: Page, id: string): boolean {
  return BigInt(id) > BigInt(after) && (upTo === null || BigInt(id) <= BigInt(upTo));
}

/** On a busy machine a look may come that late, whatever the lease. */
const LEAST_THIRD_MS = 500;

type Identity = Omit<ServerIdentity, 'pid' | 'bytes'> & { readonly pid: number | null };
