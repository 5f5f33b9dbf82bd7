// @ts-check
// The server itself: started on a free port, asked until it answers, restarted, ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { binary, serverEnvironment } from './binaries.mjs';
import { ping } from './ping.mjs';
import { indent, messageOf } from './words.mjs';

/**
 * @typedef {import('./server-user.mjs').Identity} Identity
 * @typedef {import('../postgres.mjs').PostgresServer} PostgresServer
 * @typedef {import('../postgres.mjs').ShutdownMode} ShutdownMode
 * @typedef {ReturnType<typeof import('./data-folder.mjs').guardedFolder>} Home
 */

const START_TIMEOUT_MS = 60_000;

/** @type {Record<ShutdownMode, NodeJS.Signals>} */
const SHUTDOWN_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' };

/**
 * @param {string} native
 * @param {Home} home
 * @param {string} password
 * @param {Identity} identity
 * @param {Record<string, string>} settings
 * @param {string[]} tried
 * @returns {Promise<PostgresServer>}
 */
export async function runServer(native, home, password, identity, settings, tried) {
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
 * @param {Home} home
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
 * @param {Home} home
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

/** @param {unknown} error of a start */
const isAddressTaken = (error) => messageOf(error).includes('Address already in use');
