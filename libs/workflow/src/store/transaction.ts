import { announcementPayload, channelOf } from './channel.js';
import type { Connection } from './connection.js';
import { statement, type Statement } from './statement.js';
import type { Announcement, Wakeup } from './wakeup.js';

/** Sends notifications: channels and payloads, one by one. */
export const NOTIFY = statement(
  'notify',
  () => `select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n(channel, payload)`,
);

/** A setting of our own: `set local` in a transaction, it is gone with that. */
const MARK = 'nestjs_pg_workflows.transaction';
export const SET_MARK = `set local ${MARK} = 'ours'`;
const IS_MARKED = statement('marked', () => `select current_setting('${MARK}', true) = 'ours' as marked`);

/** A transaction that is open now, ours or the caller's, and what is to be told once it has committed. */
export class Transaction {
  private readonly announcements: Announcement[] = [];
  private readonly effects: (() => void)[] = [];

  constructor(
    readonly connection: Connection,
    /** The caller's: it may go on after us, so we leave it usable. */
    readonly joined: boolean,
  ) {}

  run<Row>(sql: Statement, values: unknown[]): Promise<Row[]> {
    return this.connection.run<Row>(sql, values);
  }

  /** Whether this is still the transaction that was begun with {@link SET_MARK}, and none that the application's code began. */
  async isMarked(): Promise<boolean> {
    const [row] = await this.run<{ marked: boolean | null }>(IS_MARKED, []);
    return row?.marked === true;
  }

  /** Tells the workers, after the commit. */
  announce(...announcements: Announcement[]): void {
    this.announcements.push(...announcements);
  }

  /** Runs after the commit. Not at all after a rollback. */
  afterCommit(effect: () => void): void {
    this.effects.push(effect);
  }

  /**
   * Runs `use` behind a savepoint when the transaction is the caller's, so that what fails in it leaves the caller's
   * transaction usable and none of our rows behind.
   */
  async savepoint<T>(use: () => Promise<T>): Promise<T> {
    if (!this.joined) return use();
    await this.connection.command('savepoint wf');
    try {
      const result = await use();
      await this.connection.command('release savepoint wf');
      return result;
    } catch (error) {
      await this.connection.command('rollback to savepoint wf; release savepoint wf').catch(() => undefined);
      throw error;
    }
  }

  /** @internal */
  committed(wakeup: Wakeup | null): void {
    wakeup?.announce(this.announcements);
    for (const effect of this.effects) effect();
  }

  /** @internal Sends the announcements with the transaction itself: PostgreSQL delivers them at its commit. */
  async notifyInside(): Promise<void> {
    if (!this.announcements.length) return;
    const channel = channelOf(this.connection.tables);
    const payloads = this.announcements.map((announcement) => announcementPayload(announcement, null));
    await this.run(NOTIFY, [payloads.map(() => channel), payloads]);
  }
}
