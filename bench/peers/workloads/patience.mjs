// @ts-check
import { setTimeout as pause } from 'node:timers/promises';

const STALL_MS = 60_000;

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 * @returns {Promise<T>}
 */
export async function inTime(promise, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${STALL_MS / 1000} s`)), STALL_MS);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Until the peer's own tables say that everything has ended: only then is a run durable and over.
 *
 * @param {import('pg').Client} client
 * @param {import('../peer.mjs').Peer} peer
 * @param {number} [everyMs] 0: at once again
 */
export async function untilEnded(client, peer, everyMs = 0) {
  const limit = performance.now() + STALL_MS;
  for (;;) {
    const { rowCount } = await client.query({ name: 'unfinished', text: peer.unfinished });
    if (rowCount === 0) return;
    if (performance.now() > limit) throw new Error('The work does not get to its end');
    if (everyMs) await pause(everyMs);
  }
}

/**
 * @param {import('pg').Client} client
 * @param {import('../peer.mjs').Peer} peer
 */
export async function nothingFailed(client, peer) {
  const { rowCount } = await client.query(peer.failed);
  if (rowCount) throw new Error('Its tables say that work failed');
}
