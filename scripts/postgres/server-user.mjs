// @ts-check
// Whom the server runs as, and where that user can reach its files.

import { spawnSync } from 'node:child_process';
import os from 'node:os';

/** @typedef {{ uid?: number, gid?: number }} Identity whom the server runs as; empty: ourselves */

/**
 * PostgreSQL refuses to run as root: root runs it as the user `postgres`, which is created where it is missing.
 *
 * @param {string[]} tried
 * @returns {Identity}
 */
export function serverIdentity(tried) {
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
export function temporaryFolder(identity) {
  const usual = os.tmpdir();
  if (identity.uid === undefined) return usual;
  const candidates = [usual, '/tmp', '/var/tmp'];
  return (
    candidates.find((folder) => spawnSync('test', ['-x', folder], { ...identity, cwd: '/' }).status === 0) ?? usual
  );
}
