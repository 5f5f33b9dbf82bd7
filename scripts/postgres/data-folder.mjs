// @ts-check
// The folder with the server's data: guarded, and with a cluster in it.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { binary, serverEnvironment } from './binaries.mjs';
import { indent } from './words.mjs';

/** @typedef {import('./server-user.mjs').Identity} Identity */

const INITDB_TIMEOUT_MS = 60_000;

/**
 * A folder for the server's data, with a process that removes it (and ends the server) when ours is gone.
 *
 * @param {string} temporary
 * @param {Identity} identity
 */
export function guardedFolder(temporary, identity) {
  const folder = fs.mkdtempSync(path.join(temporary, 'workflows-pg-'));
  if (identity.uid !== undefined) fs.chownSync(folder, identity.uid, identity.gid ?? identity.uid);

  const script = fileURLToPath(new URL('./guard.mjs', import.meta.url));
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
export function createCluster(native, folder, password, identity, tried) {
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
    { ...identity, cwd: folder, env: serverEnvironment(), encoding: 'utf8', timeout: INITDB_TIMEOUT_MS },
  );
  fs.rmSync(passwordFile, { force: true });
  tried.push(`initdb in ${folder}`);
  if (error || status !== 0) {
    throw new Error(
      `initdb failed (${error?.message ?? `exit code ${status}`}):\n${indent(`${stdout ?? ''}${stderr ?? ''}`)}`,
    );
  }
}
