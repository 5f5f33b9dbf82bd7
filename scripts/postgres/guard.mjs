// @ts-check
// Outlives the process that started a PostgreSQL server by a moment: when that process is gone, however it went
// (our standard input ends), end the server and remove its folder.
//
//   node guard.mjs <folder>       the server's process id comes on standard input

import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const folder = process.argv[2];
let input = '';

// A Ctrl-C reaches the whole group of processes; the guard has to stay for what comes after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

process.stdin.setEncoding('utf8').on('data', (text) => (input += text));
process.stdin.on('error', () => {});
process.stdin.on('close', () => void clean());

async function clean() {
  const pid = Number(input.trim().split('\n').at(-1));
  if (pid) await endServer(pid);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  process.exit(0);
}

/** @param {number} pid */
async function endServer(pid) {
  // The server's own sign that it has ended: its process may stay as a zombie where nobody reaps it.
  const running = () => existsSync(path.join(folder, 'data/postmaster.pid')) && send(pid, 0);
  // SIGQUIT is PostgreSQL's immediate shutdown: nobody will read this data again.
  send(pid, process.platform === 'win32' ? 'SIGKILL' : 'SIGQUIT');
  for (let tries = 0; running() && tries < 200; tries++) await pause(25);
  if (running()) send(pid, 'SIGKILL');
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals | 0} signal
 */
function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
