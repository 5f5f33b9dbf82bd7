// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));

/** What graphile-worker and pg-boss ask for. */
const OLDEST = [22, 18];

/** The Node of every child, ours too: the one among this folder's packages, or else this process's own if it is new enough. */
export function nodeOfChildren() {
  try {
    const found = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`);
    const node = path.join(path.dirname(found), 'bin/node');
    if (process.platform === 'linux' && fs.existsSync(node)) return node;
  } catch {
    // An optional dependency, and for Linux on x64 alone.
  }
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return process.execPath;
  throw new Error(
    `The peers need Node ${OLDEST.join('.')} or newer: this one is ${process.versions.node}, and there is no package with one for this machine. Run the bench with a newer Node`,
  );
}

/**
 * @template {import('./workloads/workload.mjs').TaskName} Name
 * @param {string} node
 * @param {import('./child.mjs').Order & { task: Name }} order
 * @returns {Promise<Awaited<ReturnType<import('./workloads/workload.mjs').Tasks[Name]>>>}
 */
export async function inChild(node, order) {
  // What a library prints is no part of our answer.
  const child = fork(CHILD, [], { execPath: node, stdio: ['ignore', 2, 2, 'ipc'] });
  /** @type {{ answer?: any, error?: string }} */
  let message = {};
  child.on('message', (/** @type {any} */ sent) => (message = sent));
  child.send(order);
  const [code, signal] = await once(child, 'exit');
  if (message.error) throw new Error(message.error);
  if (!('answer' in message)) throw new Error(`The process ended without an answer (${signal ?? `exit code ${code}`})`);
  return message.answer;
}
