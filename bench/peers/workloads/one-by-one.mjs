// @ts-check
import { THREE } from '../tally.mjs';
import { inTime, nothingFailed, untilEnded } from './patience.mjs';

const WARM_UP = 20;

/**
 * One run of three steps at a time on an idle system.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {Limits} limits
 * @returns {Promise<{ ms: number[] }>} from the call that starts it until the tables say that it has ended
 */
export async function measureIdle({ peer, url, client, tally }, limits) {
  await peer.prepare(url);
  const open = await peer.open(url, tally, true);
  let order = 0;
  const ms = await repeat(limits, async () => {
    order += 1;
    const lastBody = tally.next('three.3', order);
    const begun = performance.now();
    await open.start('three', order);
    await inTime(lastBody, 'a run of three steps');
    await untilEnded(client, peer);
    return performance.now() - begun;
  });
  await open.close();
  tally.expect(THREE, order);
  await nothingFailed(client, peer);
  return { ms };
}

/**
 * One event at a time to one of many runs that wait, on an idle system.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {Limits} limits
 * @returns {Promise<{ ms: number[] }>} from the call that sends it until the body after the wait runs
 */
export async function measureWakeUp({ peer, url, client, tally }, limits) {
  await peer.prepare(url);
  const open = await peer.open(url, tally, true);
  const all = Array.from({ length: limits.times + WARM_UP }, (_, order) => order);
  /** @type {Promise<void>} */
  const parked = new Promise((resolve) => {
    tally.listen = (body) => {
      if (body === 'parked.parked' && tally.count(body) === all.length) resolve();
    };
  });
  await open.park(all);
  await inTime(parked, 'runs that wait');
  if (peer.parking) await untilEnded(client, { ...peer, unfinished: peer.parking }, 10);
  let order = -1;
  const ms = await repeat(limits, async () => {
    order += 1;
    const woken = tally.next('parked.woken', order);
    const begun = performance.now();
    await open.wake(order);
    await inTime(woken, 'a run that waits');
    return performance.now() - begun;
  });
  tally.expect(['parked.woken'], order + 1);
  await nothingFailed(client, peer);
  await open.close();
  return { ms };
}

/**
 * @typedef {{ times: number, seconds: number }} Limits so often, or until so long has passed: who polls once a second would
 *   be at it for ever
 *
 * @param {Limits} limits
 * @param {() => Promise<number>} once
 */
async function repeat({ times, seconds }, once) {
  const ms = [];
  const limit = performance.now() + seconds * 1_000;
  for (let time = 1; time <= times + WARM_UP; time += 1) {
    const took = await once();
    if (performance.now() > limit && ms.length >= 10) break;
    if (time > WARM_UP || performance.now() > limit / 2) ms.push(took);
  }
  return ms;
}
