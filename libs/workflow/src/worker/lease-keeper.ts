import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { cutClient, endClient, type DirectClient } from '../store/client-config.js';
import { PlannedSize } from '../store/planned-size.js';
import { isOfStatementName, sqlStateOf } from '../store/sql-state.js';
import type { HeldRow, LapsedRow, LeaseTexts, LookPage, ServerIdentity } from '../store/leases.js';
import { period, retryPause } from './jitter.js';
import { LapseJudge } from './lapse-judge.js';
import { monotonic } from './monotonic.js';

/** What the keeper is given. It travels to another thread, so it holds plain values only. */
export interface LeaseTask {
  readonly workerId: string;
  /** Milliseconds. */
  readonly lease: number;
  /** Names of the classes and jobs whose lapsed rows this process judges. */
  readonly handlers: readonly string[];
  readonly texts: LeaseTexts;
  /** Whether statements are at READ COMMITTED by themselves. */
  readonly readCommitted: boolean;
}

/** What the keeper tells. */
export type LeaseReport =
  /** What the database says is ours, asked for at `sentAt` (`monotonic()`). */
  | {
      readonly kind: 'held';
      readonly sentAt: number;
      readonly rows: readonly (readonly [id: string, claimNo: number])[];
    }
  /** Rows whose worker is lost. Told again at each look, for as long as they are found. */
  | { readonly kind: 'lapsed'; readonly rows: readonly LapsedRow[] }
  /** The connection is lost; leases are not renewed until it is back. */
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'back' };

/** The pace of it all, from the lease. */
function paceOf(lease: number) {
  return {
    renew: lease / 3,
    /** For rows that somebody's lock kept from renewal. */
    retry: bounded(lease / 32, 30, 250),
    look: bounded(lease / 16, 100, 1_000),
    /** A lapse is seen twice, this far apart: a live worker has renewed in between, however often a lock kept it from that. */
    apart: bounded(lease / 8, 150, 2_000) * 0.9,
    answer: Math.max(lease / 3, 500),
    longestPause: bounded(lease / 6, 200, 5_000),
  };
}

const FIRST_PAUSE_MS = 100;

/**
 * Renews this worker's leases and looks for those of others that have lapsed, over one connection of its own.
 *
 * It knows one thing, the worker's id. Rows that are inserted by continuing in place carry it, so nobody has to tell it what is
 * ours; what it finds to be ours it tells, and whoever runs the bodies compares.
 */
export class LeaseKeeper {
  private readonly pace: ReturnType<typeof paceOf>;
  private readonly judge: LapseJudge;
  private readonly halt = new AbortController();
  private ended: Promise<void> = Promise.resolve();
  private lost = false;
  private readsTimeline = true;
  /** Whether statements are prepared: planned anew each time, they were half of what an idle worker costs the server. */
  private prepares = true;
  private readonly plannedSize = new PlannedSize();
  /** The next look begins after this row. */
  private after = '0';

  constructor(
    private readonly newClient: () => DirectClient,
    private readonly task: LeaseTask,
    private readonly report: (report: LeaseReport) => void,
  ) {
    this.pace = paceOf(task.lease);
    this.judge = new LapseJudge(task.lease, this.pace.apart);
  }

  start(): void {
    this.ended = this.keep();
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.ended;
  }

  private async keep(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!this.halt.signal.aborted) {
      const begun = monotonic();
      await this.session().catch((error: unknown) => this.interrupted(error));
      // A connection that held for a while is opened again at once, one that fails at its start more and more slowly.
      if (monotonic() - begun > this.task.lease) pause = FIRST_PAUSE_MS;
      await this.rest(retryPause(pause));
      pause = Math.min(pause * 2, this.pace.longestPause);
    }
  }

  /** One connection's life. Ends by an error, or when it is told to stop. */
  private async session(): Promise<void> {
    const client = this.newClient();
    // What is asked next on it fails, and says so.
    client.on('error', () => undefined);
    try {
      await within(client, this.pace.answer * 2, client.connect());
      let renewAt = monotonic();
      let lookAt = renewAt;
      let kept: string[] = [];
      let retryAt = Infinity;
      while (!this.halt.signal.aborted) {
        const now = monotonic();
        if (now >= renewAt) {
          renewAt = now + period(this.pace.renew);
          kept = await this.renew(client, null);
          retryAt = kept.length ? monotonic() + this.pace.retry : Infinity;
          this.isBack();
        } else if (now >= retryAt) {
          kept = await this.renew(client, kept);
          retryAt = kept.length ? monotonic() + this.pace.retry : Infinity;
        }
        if (now >= lookAt) {
          lookAt = now + period(this.pace.look);
          await this.look(client);
        }
        await this.rest(Math.max(1, Math.min(renewAt, retryAt, lookAt) - monotonic()));
      }
    } finally {
      await endClient(client);
    }
  }

  /** Returns the rows of ours that somebody's lock kept from renewal. */
  private async renew(client: DirectClient, some: readonly string[] | null): Promise<string[]> {
    const { workerId, lease } = this.task;
    const sentAt = monotonic();
    const answer = some
      ? this.ask(client, 'renewSome', [workerId, lease, some])
      : this.ask(client, 'renew', [workerId, lease]);
    const rows = (await within(client, this.pace.answer, answer)).rows as HeldRow[];
    if (!some) this.report({ kind: 'held', sentAt, rows: rows.map(({ id, claim_no }) => [id, claim_no]) });
    return rows.filter(({ id, renewed }) => !renewed && (!some || some.includes(id))).map(({ id }) => id);
  }

  /** At READ COMMITTED: above it, a row that somebody writes meanwhile is a serialization failure. */
  private async ask(client: DirectClient, which: keyof LeaseTexts, values: unknown[]): Promise<{ rows: unknown[] }> {
    try {
      return await this.askOnce(client, which, values);
    } catch (error) {
      if (!this.prepares || !isOfStatementName(error)) throw error;
      this.prepares = false;
      return this.askOnce(client, which, values);
    }
  }

  private async askOnce(
    client: DirectClient,
    which: keyof LeaseTexts,
    values: unknown[],
  ): Promise<{ rows: unknown[] }> {
    const text = this.task.texts[which];
    const query = () =>
      this.prepares
        ? client.query({ name: this.plannedSize.nameOf(nameOf(which, text)), text, values })
        : client.query(text, values);
    if (this.task.readCommitted) return query();
    await client.query('begin isolation level read committed');
    try {
      const answer = await query();
      await client.query('commit');
      return answer;
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
  }

  /** One page of them. What cannot be declared stalled, however often it is told, must not hide the rest. */
  private async look(client: DirectClient): Promise<void> {
    const { workerId, handlers } = this.task;
    const { after } = this;
    const which = this.readsTimeline ? 'look' : 'lookWithoutTimeline';
    let rows: (ServerIdentity & LookPage & LapsedRow)[];
    try {
      rows = (await within(client, this.pace.answer, this.ask(client, which, [workerId, handlers, after])))
        .rows as typeof rows;
    } catch (error) {
      // Not everybody may read it there, or the server has no such thing.
      if (!this.readsTimeline || !['42501', '42883'].includes(sqlStateOf(error) ?? '')) throw error;
      this.readsTimeline = false;
      return;
    }
    const [server] = rows;
    this.plannedSize.measured(server!.bytes);
    // Behind a transaction pooler each look may be another backend's: its pid says nothing there.
    const pid = client.processID === server!.pid ? server!.pid : null;
    const lapsed = this.judge.judge(
      monotonic(),
      { ...server!, pid },
      rows.filter(({ id }) => id !== null),
      { after, upTo: server!.up_to },
    );
    this.after = server!.up_to ?? '0';
    if (lapsed.length) this.report({ kind: 'lapsed', rows: lapsed });
  }

  private interrupted(error: unknown): void {
    if (this.lost || this.halt.signal.aborted) return;
    this.lost = true;
    this.report({ kind: 'lost', reason: error instanceof Error ? error.message || error.name : String(error) });
  }

  private isBack(): void {
    if (!this.lost) return;
    this.lost = false;
    this.report({ kind: 'back' });
  }

  private async rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.halt.signal }).catch(() => undefined);
  }
}

/** The answer, or (when it does not come in time) an error: a connection whose other end has vanished says nothing by itself. */
async function within<T>(client: DirectClient, limit: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the database did not answer within ${Math.round(limit)} ms`));
      cutClient(client);
    }, limit);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => undefined);
  }
}

/** Of a prepared statement: another text, for other tables say, has another. */
function nameOf(which: keyof LeaseTexts, text: string): string {
  return `wf_lease_${which}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

function bounded(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
