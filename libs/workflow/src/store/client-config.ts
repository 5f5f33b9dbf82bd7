import type { DataSource } from 'typeorm';

/** What `pg` takes to make one connection. */
export type ClientConfig = Record<string, unknown>;

/** A `pg` client as a connection beside the pool uses it. */
export interface DirectClient {
  connect(): Promise<unknown>;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  query(prepared: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): void;
  on(event: 'error' | 'end', listener: (error?: Error) => void): void;
  end(): Promise<void>;
  /** The backend's, as the server (or a pooler before it) told at connect. */
  readonly processID?: number | null;
}

type DirectClientClass = new (config: ClientConfig) => DirectClient;

/** What is said of a pool, and not of a connection. */
const OF_THE_POOL = new Set([
  'max', 'min', 'maxUses', 'maxLifetimeSeconds', 'allowExitOnIdle', 'idleTimeoutMillis', 'poolSize', 'log', 'Client', 'Promise',
  'onConnect', 'verify',
]); // prettier-ignore

/** A connection that is asked for and does not come is given up after this long, unless the application says otherwise. */
const CONNECT_MS = 10_000;

/** How the DataSource's pool connects, for a connection beside it; or by a URL of its own. */
export function clientConfig(dataSource: DataSource, applicationName: string, url: string | null = null): ClientConfig {
  const own = { application_name: applicationName, keepAlive: true };
  if (url !== null) return { connectionTimeoutMillis: CONNECT_MS, connectionString: url, ...own };
  const options = poolOptions(dataSource);
  const config = Object.fromEntries(Object.entries(options).filter(([key]) => !OF_THE_POOL.has(key)));
  // The pool keeps these out of its listings, so that they stand in no log: they are not among the entries.
  if (options.password !== undefined) config.password = options.password;
  return { ...config, connectionTimeoutMillis: options.connectionTimeoutMillis ?? CONNECT_MS, ...own };
}

/** As `clientConfig`, to be sent to another thread: an `ssl.key` that the pool hides would not travel. */
export function portableConfig(config: ClientConfig): ClientConfig {
  const { ssl } = config as { ssl?: { key?: unknown } | boolean };
  return typeof ssl === 'object' && ssl !== null ? { ...config, ssl: { ...ssl, key: ssl.key } } : config;
}

/** A client of the same driver as the pool's. */
export function directClient(dataSource: DataSource, config: ClientConfig): DirectClient {
  const { Client } = (dataSource.driver as unknown as { postgres: { Client: DirectClientClass } }).postgres;
  return new Client(config);
}

function poolOptions(dataSource: DataSource): ClientConfig {
  return (dataSource.driver as unknown as { master: { options: ClientConfig } }).master.options;
}

/** Ends it without waiting for ever for a server that does not answer any more. */
export async function endClient(client: DirectClient): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_MS);
  });
  const inOrder = client.end().then(
    () => true,
    () => false,
  );
  if ((await Promise.race([inOrder, late])) !== true) cutClient(client);
  clearTimeout(timer);
}

/** Cuts it at once: whoever waits for an answer gets an error. */
export function cutClient(client: object): void {
  (client as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

const END_MS = 1_000;
