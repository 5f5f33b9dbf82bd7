import type { DataSource } from 'typeorm';
import { channelOf, parseAnnouncement, parseTest, testPayload } from '../store/channel.js';
import { clientConfig, directClient, endClient, type DirectClient } from '../store/client-config.js';
import type { Notifier } from '../store/notifier.js';
import type { Tables } from '../store/statement.js';
import type { Wakeup } from '../store/wakeup.js';
import { inTime } from './in-time.js';
import { period, retryPause } from './jitter.js';
import type { Peers } from './peers.js';
import { workflowLogger } from '../observe/log.js';

/** `deaf`: connected, but notifications do not arrive. */
export type ListenState = 'off' | 'connecting' | 'listening' | 'deaf';

const SELF_TEST_MS = 2_000;
const TEST_EVERY_POLLS = 10;
const LEAST_TEST_MS = 1_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;

/** Milliseconds between two self-tests. */
export function testEvery(pollInterval: number): number {
  return Math.max(LEAST_TEST_MS, pollInterval * TEST_EVERY_POLLS);
}

/**
 * Hears what other processes announce, over a connection of its own, and lends that to the notifier. It proves itself, when it has connected and
 * again and again after that: a notification to itself must come back. Behind a transaction pooler LISTEN is accepted and deaf; then it says
 * so once, and polling carries on. A connection that does not answer (its other end has vanished) is opened anew.
 */
export class Listener {
  private readonly logger = workflowLogger;
  private client: DirectClient | undefined;
  private retry: NodeJS.Timeout | undefined;
  private nextTest: NodeJS.Timeout | undefined;
  /** Waits for the notification to itself. */
  private heardTest: (() => void) | undefined;
  private saidDeaf = false;
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
      /** Notifies over another connection than this one. */
      readonly notify: (channel: string, payload: string) => Promise<void>;
      /** Milliseconds. */
      readonly pollInterval: number;
      /** Is told who else listens. */
      readonly peers: Peers;
      /** Something may have been missed: look. */
      readonly reconnected: () => void;
    },
  ) {}

  async open(): Promise<void> {
    if (this.closed) return;
    this.state = 'connecting';
    const { dataSource } = this;
    const client = directClient(dataSource, clientConfig(dataSource, 'nestjs-pg-workflows listener', this.options.url));
    this.client = client;
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    client.on('notification', ({ payload }) => this.hear(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${channelOf(this.tables)}`);
      await this.test(client);
    } catch {
      return this.lost(client);
    }
    if (this.closed || this.client !== client) return;
    this.pause = FIRST_RETRY_MS;
    if (this.lostOnce && (this.state as ListenState) === 'listening')
      this.logger.log('The listening connection is back.');
    this.lostOnce = false;
    this.options.reconnected();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.state = 'off';
    clearTimeout(this.retry);
    clearTimeout(this.nextTest);
    this.notifier.sendBy(null);
    const { client } = this;
    this.client = undefined;
    if (client) await endClient(client);
  }

  /** Sees that the server answers, then sends a notification to itself, and sees whether it comes back. */
  private async test(client: DirectClient): Promise<void> {
    const answered = client.query('select 1');
    if (!(await inTime(answered, SELF_TEST_MS))) throw new Error('the server does not answer');
    const heard = new Promise<void>((resolve) => {
      this.heardTest = resolve;
    });
    try {
      // Over the pool: behind a transaction pooler a connection that is alone hears itself, and nobody else.
      await this.options.notify(channelOf(this.tables), this.ownTest);
      const proven = await inTime(heard, SELF_TEST_MS);
      if (this.client === client) this.proved(client, proven);
    } catch {
      // It could not be sent: nothing is known, and it is tried again.
    }
    if (this.client === client) this.testAgain(client);
  }

  private testAgain(client: DirectClient): void {
    clearTimeout(this.nextTest);
    const pause = period(testEvery(this.options.pollInterval));
    this.nextTest = setTimeout(() => void this.test(client).catch(() => this.lost(client)), pause);
    this.nextTest.unref();
  }

  private proved(client: DirectClient, heard: boolean): void {
    this.state = heard ? 'listening' : 'deaf';
    this.notifier.sendBy(
      heard
        ? async (to, payloads) => {
            await client.query('select pg_notify($1, payload) from unnest($2::text[]) payload', [to, payloads]);
          }
        : null,
    );
    if (heard || this.saidDeaf) return;
    this.saidDeaf = true;
    this.logger.warn(
      'LISTEN was accepted, but notifications do not arrive: most likely a transaction pooler is in between. Polling carries on. ' +
        'Set worker.listen to the URL of a direct connection, or to false.',
    );
  }

  private get ownTest(): string {
    return testPayload(this.notifier.sender, this.options.peers.kind);
  }

  private hear(payload: string): void {
    if (payload === this.ownTest) return this.heardTest?.();
    const peer = parseTest(payload);
    if (peer) return this.options.peers.heard(peer.sender, peer.kind);
    const heard = parseAnnouncement(payload);
    if (heard && heard.sender !== this.notifier.sender) this.wakeup.heard(heard.announcement);
  }

  private lost(client: DirectClient): void {
    if (this.closed || this.client !== client) return;
    this.client = undefined;
    this.state = 'off';
    clearTimeout(this.nextTest);
    this.notifier.sendBy(null);
    void endClient(client);
    if (!this.lostOnce)
      this.logger.warn('The listening connection was lost; polling carries on while it is opened again.');
    this.lostOnce = true;
    this.retry = setTimeout(() => void this.open(), retryPause(this.pause));
    this.pause = Math.min(this.pause * 2, LONGEST_RETRY_MS);
  }
}
