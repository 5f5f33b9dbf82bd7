/**
 * PgBouncer in transaction mode, in front of a test server. Debian and its kin have it as `pgbouncer`; where there is none, the tests that
 * need it are skipped, and say so.
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { urlOf, withClient } from './database-names';
import { endsWithUs } from './ends-with-us';
import { freePort } from './free-port';

export interface PgBouncer {
  /** A URL of the server's, through the pooler. */
  readonly urlOf: (direct: string) => string;
  /** Rows that the pooler's own console answers: `show pools`, `show stats`. */
  readonly show: (what: string) => Promise<Record<string, string>[]>;
  readonly stop: () => Promise<void>;
}

const START_TRIES = 200;

/** Where the program is; undefined where there is none. */
const pgbouncerProgram = findProgram();

function findProgram(): string | undefined {
  const candidates = ['pgbouncer', '/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer'];
  return candidates.find((program) => spawnSync(program, ['--version']).status === 0);
}

/** `describe`, where there is a PgBouncer. */
export const describeWithPgBouncer: jest.Describe = pgbouncerProgram === undefined ? skipLoudly() : describe;

function skipLoudly(): jest.Describe {
  console.warn('No pgbouncer here (apt-get install pgbouncer): its tests are skipped.');
  return describe.skip;
}

/** @param server whose clients it pools: with the name and the password of this URL */
export async function startPgBouncer(server: string, settings: Record<string, string> = {}): Promise<PgBouncer> {
  const target = new URL(server);
  const identity = unprivileged();
  const folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-pgbouncer-'));
  const port = await freePort();
  const user = decodeURIComponent(target.username);
  const password = decodeURIComponent(target.password);
  const users = path.join(folder, 'users.txt');
  const config = path.join(folder, 'pgbouncer.ini');
  writeFileSync(users, `${quoted(user)} ${quoted(password)}\n`, { mode: 0o600 });
  writeFileSync(
    config,
    iniOf(target, {
      listen_addr: '127.0.0.1',
      listen_port: String(port),
      unix_socket_dir: '',
      auth_type: 'scram-sha-256',
      auth_file: users,
      admin_users: user,
      pool_mode: 'transaction',
      default_pool_size: '20',
      max_client_conn: '500',
      ...settings,
    }),
    { mode: 0o600 },
  );
  if (identity) for (const file of [folder, users, config]) chownSync(file, identity.uid, identity.gid);

  const bouncer = spawn(pgbouncerProgram!, [config], { ...identity, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  bouncer.unref();
  const guard = endsWithUs(bouncer, folder);
  const stop = async () => {
    if (bouncer.exitCode === null && bouncer.signalCode === null) {
      const ended = once(bouncer, 'exit');
      bouncer.kill('SIGKILL'); // SIGTERM and SIGINT would wait for clients
      await ended;
    }
    guard.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  const through = (direct: string) => {
    const url = new URL(direct);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    return url.href;
  };
  try {
    await untilReady(bouncer, through(server));
  } catch (error) {
    await stop();
    throw error;
  }
  return { urlOf: through, show: (what) => ask(through(urlOf(server, 'pgbouncer')), what), stop };
}

function iniOf(target: URL, settings: Record<string, string>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return `[databases]\n* = host=${target.hostname} port=${target.port}\n\n[pgbouncer]\n${lines.join('\n')}\n`;
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** PgBouncer refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, user], { encoding: 'utf8' }));
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('We are root, and there is neither a user "postgres" nor "nobody" to run PgBouncer as');
}

async function untilReady(bouncer: ChildProcess, url: string): Promise<void> {
  let log = '';
  bouncer.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
  });
  let last: unknown;
  for (let tries = 0; tries < START_TRIES && bouncer.exitCode === null; tries += 1) {
    try {
      return await withClient(url, async (client) => void (await client.query('select 1')));
    } catch (error) {
      last = error;
    }
    await pause(25);
  }
  throw new Error(`PgBouncer did not start: ${String(last)}\n${log}`);
}

async function ask(url: string, what: string): Promise<Record<string, string>[]> {
  return withClient(url, async (client) => (await client.query<Record<string, string>>(what)).rows);
}
