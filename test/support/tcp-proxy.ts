/** A proxy in front of a server, so that a test can break connections as networks do. */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What becomes of a connection that is opened: passed on; accepted, and never heard of again; reset at once. */
export type Newcomers = 'pass' | 'hang' | 'refuse';

/** What a connection's next bytes for the server come to: passed on; from now on half-open; cut before they are. */
export type Verdict = 'pass' | 'freeze' | 'cut';

class Pair {
  frozen = false;

  constructor(
    readonly client: Socket,
    readonly server: Socket | null,
  ) {}

  /** Half-open: nothing goes through any more, and no end of one side reaches the other. */
  freeze(): void {
    this.frozen = true;
    this.client.pause();
    this.server?.pause();
  }

  cut(): void {
    this.client.resetAndDestroy();
    this.server?.resetAndDestroy();
  }
}

export class TcpProxy {
  newcomers: Newcomers = 'pass';
  /** Connections that somebody opened, or tried to. */
  attempts = 0;
  /** Is asked about all that a client sends. */
  onRequest: (bytes: Buffer) => Verdict = () => 'pass';
  private readonly pairs = new Set<Pair>();

  private constructor(
    private readonly listening: Server,
    private readonly target: URL,
  ) {
    listening.on('connection', (client) => this.accept(client));
  }

  /** In front of the server that this URL names. */
  static async before(target: string): Promise<TcpProxy> {
    const listening = createServer();
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return new TcpProxy(listening, new URL(target));
  }

  /** The target's URL, through the proxy. */
  get url(): string {
    return this.urlOf(this.target.href);
  }

  /** Another URL of the target's server (another database, another user), through the proxy. */
  urlOf(target: string): string {
    const url = new URL(target);
    url.port = String((this.listening.address() as AddressInfo).port);
    return url.href;
  }

  /** Connections that are open and pass. */
  get passing(): number {
    return [...this.pairs].filter(({ frozen }) => !frozen).length;
  }

  /** Makes every connection there is half-open. */
  freeze(): void {
    for (const pair of this.pairs) pair.freeze();
  }

  /** Resets every connection there is, on both sides. */
  cut(): void {
    for (const pair of this.pairs) pair.cut();
  }

  async close(): Promise<void> {
    const closed = once(this.listening, 'close');
    this.listening.close();
    this.cut();
    await closed;
  }

  private accept(client: Socket): void {
    this.attempts += 1;
    // Errors are what this proxy is for: who is connected meets them, and nobody else needs to.
    client.on('error', () => undefined);
    if (this.newcomers === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const server =
      this.newcomers === 'hang' ? null : connect({ host: this.target.hostname, port: Number(this.target.port) });
    const pair = new Pair(client, server);
    this.pairs.add(pair);
    client.on('close', () => this.closed(pair, server));
    if (!server) return pair.freeze();
    server.on('error', () => undefined);
    server.on('close', () => this.closed(pair, client));
    client.on('data', (bytes) => this.forward(pair, bytes));
    server.on('data', (bytes) => client.write(bytes));
  }

  private forward(pair: Pair, bytes: Buffer): void {
    const verdict = pair.frozen ? 'freeze' : this.onRequest(bytes);
    if (verdict === 'pass') pair.server!.write(bytes);
    else if (verdict === 'cut') pair.cut();
    else pair.freeze();
  }

  /** One side has ended: the other learns of it, unless the connection is half-open. */
  private closed(pair: Pair, other: Socket | null): void {
    if (pair.frozen && other && !other.destroyed) return;
    this.pairs.delete(pair);
    other?.destroy();
  }
}
