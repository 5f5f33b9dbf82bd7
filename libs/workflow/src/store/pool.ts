import type { EventEmitter } from 'node:events';
import type { DataSource } from 'typeorm';
import { cutClient } from './client-config.js';

/** A pool that is being closed by the application waits this long for what bodies hold that do not end. */
const END_MS = 1_000;
const LOOK_MS = 100;
/** The driver's own default. */
const DEFAULT_SIZE = 10;

/** What this package uses of `pg-pool`. */
interface DriverPool extends EventEmitter {
  readonly options?: { readonly max?: number };
  readonly ending?: boolean;
  readonly ended?: boolean;
  readonly _clients?: readonly { readonly _connected?: boolean }[];
}

/** The DataSource's pool, as far as TypeORM leaves it to itself: connections that are cut while nobody listens, or that never come. */
export class Pool {
  constructor(private readonly dataSource: DataSource) {}

  /** What `pg` was given, by TypeORM's `poolSize` or in `extra`. */
  get size(): number {
    return this.driver?.options?.max ?? DEFAULT_SIZE;
  }

  /**
   * A connection that is cut between the moment it was made and the moment TypeORM listens to it would end the process: nobody hears its
   * error. Whoever uses it next is told by the failure of what he asks.
   */
  hearErrors(): void {
    this.driver?.on('connect', this.hear);
  }

  hearErrorsNoMore(): void {
    this.driver?.off('connect', this.hear);
  }

  /** A connection that is being made to a server which accepts and never answers is cut: the pool would wait for it for ever, and its place with it. */
  async inTime<T>(limit: number | undefined, connecting: Promise<T>): Promise<T> {
    if (limit === undefined) return connecting;
    const timer = setTimeout(() => {
      for (const client of this.driver?._clients ?? []) if (client._connected === false) cutClient(client);
    }, limit);
    try {
      return await connecting;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Its end waits for each connection that somebody holds; what a body holds that does not end is not given back any more. */
  cutWhenItEnds(): void {
    const { driver } = this;
    const timer = setInterval(() => {
      if (!driver || driver.ended) return clearInterval(timer);
      if (!driver.ending) return;
      clearInterval(timer);
      setTimeout(() => driver._clients?.forEach(cutClient), END_MS).unref();
    }, LOOK_MS);
    timer.unref();
  }

  private readonly hear = (client: EventEmitter): void => {
    client.on('error', () => undefined);
  };

  /** Not there before the DataSource is initialized. */
  private get driver(): DriverPool | undefined {
    return (this.dataSource.driver as { master?: DriverPool }).master;
  }
}
