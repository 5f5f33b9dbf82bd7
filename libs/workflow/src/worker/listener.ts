import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { channelOf, parseAnnouncement } from '../store/channel.js';
import type { Notifier } from '../store/notifier.js';
import type { Tables } from '../store/statement.js';
import type { Wakeup } from '../store/wakeup.js';

/** What this file uses of a `pg` client. */
interface ListenClient {
  connect(): Promise<void>;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): void;
  on(event: 'error' | 'end', listener: (error?: Error) => void): void;
  end(): Promise<void>;
}

type ListenState = 'off' | 'connecting' | 'listening' | 'deaf';

const SELF_TEST_MS = 2_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;

/**
 * Hears what other processes announce, over a connection of its own, and lends that to the notifier. It proves itself: a
 * notification to itself must come back. Behind a transaction pooler LISTEN is accepted and deaf; then it says so once, and
 * polling carries on.
 */
export class Listener {
  private readonly logger = new Logger('Workflow');
  private client: ListenClient | undefined;
  private retry: NodeJS.Timeout | undefined;
  private pause = FIRST_RETRY_MS;
  private closed = false;
  /** Said once for each loss, however often the new connection fails. */
  private lostOnce = false;
  state: ListenState = 'off';

  constructor(
    private readonly dataSource: DataSource,
    private readonly tables: Tables,
    private readonly notifier: Notifier,
    private readonly wakeup: Wakeup,
    private readonly options: {
      /** A direct connection's URL; null: connect as the pool does. */
      readonly url: string | null;
      /** Something may have been missed: look. */
      readonly reconnected: () => void;
    },
  ) {}

  async open(): Promise<void> {
    if (this.closed) return;
    this.state = 'connecting';
    const client = newClient(this.dataSource, this.options.url);
    this.client = client;
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    let proven: boolean;
    try {
      await client.connect();
      proven = await this.prove(client);
    } catch {
      return this.lost(client);
    }
    if (this.closed || this.client !== client) return;
    this.pause = FIRST_RETRY_MS;
    if (this.lostOnce && proven) this.logger.log('The listening connection is back.');
    this.lostOnce = false;
    this.options.reconnected();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.state = 'off';
    clearTimeout(this.retry);
    this.notifier.sendBy(null);
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  /** Listens, and waits for a notification to itself. */
  private async prove(client: ListenClient): Promise<boolean> {
    const channel = channelOf(this.tables);
    const test = JSON.stringify([this.notifier.sender, 'test']);
    const heard = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), SELF_TEST_MS);
      client.on('notification', ({ payload }) => {
        if (payload === test) {
          clearTimeout(timer);
          resolve(true);
        } else if (payload !== undefined) this.hear(payload);
      });
    });
    await client.query(`listen ${channel}`);
    await client.query('select pg_notify($1, $2)', [channel, test]);
    const proven = await heard;
    if (this.client !== client) return proven;
    this.state = proven ? 'listening' : 'deaf';
    if (proven) {
      this.notifier.sendBy(async (to, payloads) => {
        await client.query('select pg_notify($1, payload) from unnest($2::text[]) payload', [to, payloads]);
      });
    } else {
      this.logger.warn(
        'LISTEN was accepted, but notifications do not arrive: most likely a transaction pooler is in between. Polling carries on. ' +
          'Set worker.listen to the URL of a direct connection, or to false.',
      );
    }
    return proven;
  }

  private hear(payload: string): void {
    const heard = parseAnnouncement(payload);
    if (heard && heard.sender !== this.notifier.sender) this.wakeup.heard(heard.announcement);
  }

  private lost(client: ListenClient): void {
    if (this.closed || this.client !== client) return;
    this.client = undefined;
    this.state = 'off';
    this.notifier.sendBy(null);
    void client.end().catch(() => undefined);
    if (!this.lostOnce)
      this.logger.warn('The listening connection was lost; polling carries on while it is opened again.');
    this.lostOnce = true;
    this.retry = setTimeout(() => void this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_RETRY_MS);
  }
}

/** A client of the same driver, connected as the DataSource's pool is. */
function newClient(dataSource: DataSource, url: string | null): ListenClient {
  const driver = dataSource.driver as unknown as {
    postgres: { Client: new (config: unknown) => ListenClient };
    master: { options: object };
  };
  const config = url === null ? { ...driver.master.options } : { connectionString: url };
  return new driver.postgres.Client({ ...config, application_name: 'nestjs-pg-workflows listener' });
}
