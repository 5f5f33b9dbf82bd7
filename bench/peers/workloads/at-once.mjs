// @ts-check
import { FIVE } from '../tally.mjs';
import { nothingFailed, untilEnded } from './patience.mjs';

/**
 * Runs of five steps that a process without a worker has started before: all of them, as fast as it goes.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {{ runs: number }} size
 * @returns {Promise<{ stepsPerSecond: number }>} from the first body until the tables say that all runs have ended
 */
export async function workAtOnce({ peer, url, client, tally }, { runs }) {
  let begun = 0;
  let last = 0;
  /** @type {Promise<void>} */
  const allBodies = new Promise((resolve) => {
    let ended = 0;
    tally.listen = (body) => {
      begun ||= performance.now();
      if (body === 'five.5' && (ended += 1) === runs) resolve();
      last = performance.now();
    };
  });
  const open = await peer.open(url, tally, true);
  await whileBodiesRun(allBodies, () => last || performance.now());
  await untilEnded(client, peer, 2);
  const seconds = (performance.now() - begun) / 1000;
  await open.close();
  tally.expect(FIVE, runs);
  await nothingFailed(client, peer);
  if (peer.recorded) {
    const { rows } = await client.query(peer.recorded);
    if (rows[0].steps !== runs * 5)
      throw new Error(`Its tables have ${rows[0].steps} completed steps instead of ${runs * 5}`);
  }
  return { stepsPerSecond: (runs * 5) / seconds };
}

/**
 * However long it takes, as long as something happens.
 *
 * @param {Promise<void>} allBodies
 * @param {() => number} last when a body ran
 */
async function whileBodiesRun(allBodies, last) {
  const since = performance.now();
  /** @type {NodeJS.Timeout | undefined} */
  let watch;
  const stalled = new Promise((_, reject) => {
    watch = setInterval(() => {
      if (performance.now() - Math.max(since, last()) > 30_000) reject(new Error('No body has run for 30 s'));
    }, 1_000);
  });
  try {
    await Promise.race([allBodies, stalled]);
  } finally {
    clearInterval(watch);
  }
}

/**
 * The part before: its tables, and the runs.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {{ runs: number }} size
 * @returns {Promise<{ startsPerSecond: number }>}
 */
export async function startAtOnce({ peer, url, tally }, { runs }) {
  await peer.prepare(url);
  const open = await peer.open(url, tally, false);
  const begun = performance.now();
  await open.startMany(Array.from({ length: runs }, (_, order) => order));
  const seconds = (performance.now() - begun) / 1000;
  await open.close();
  return { startsPerSecond: runs / seconds };
}
