// @ts-check
import { FIVE } from '../tally.mjs';
import { inTime, nothingFailed, untilEnded } from './patience.mjs';

/**
 * So many runs of five steps at a time: a new one is started when the last body of one has run.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {{ inFlight: number, seconds: number }} size
 * @returns {Promise<{ stepsPerSecond: number }>} from the first start until the tables say that all runs have ended
 */
export async function keepInFlight({ peer, url, client, tally }, { inFlight, seconds }) {
  await peer.prepare(url);
  const open = await peer.open(url, tally, true);
  /** @type {Map<number, () => void>} */
  const waiting = new Map();
  tally.listen = (body, order) => {
    if (body === 'five.5') waiting.get(order)?.();
  };
  let order = 0;
  const one = async () => {
    const mine = (order += 1);
    /** @type {Promise<void>} */
    const ended = new Promise((resolve) => waiting.set(mine, resolve));
    await open.start('five', mine);
    await inTime(ended, 'a run of five steps');
    waiting.delete(mine);
  };
  const keepOn = async (/** @type {number} */ until) => {
    while (performance.now() < until) await one();
  };
  const inParallel = (/** @type {number} */ ms) => {
    const until = performance.now() + ms;
    return Promise.all(Array.from({ length: inFlight }, () => keepOn(until)));
  };

  await inParallel(1_000); // Nobody measures a cold process.
  await untilEnded(client, peer, 2);
  const before = order;
  const begun = performance.now();
  await inParallel(seconds * 1_000);
  await untilEnded(client, peer, 2);
  const took = (performance.now() - begun) / 1000;
  await open.close();
  tally.expect(FIVE, order);
  await nothingFailed(client, peer);
  return { stepsPerSecond: ((order - before) * 5) / took };
}
