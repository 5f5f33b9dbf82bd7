// @ts-check
import { inTime, nothingFailed, untilEnded } from './patience.mjs';

const WARM_UP = 50;

/**
 * A run with so many children that do nothing, and a body after all of them.
 *
 * @param {import('./workload.mjs').Setting} setting
 * @param {{ children: number, times: number }} size
 * @returns {Promise<{ ms: number[] }>} from the call that starts it until that body runs
 */
export async function measureFanOut({ peer, url, client, tally }, { children, times }) {
  await peer.prepare(url);
  const open = await peer.open(url, tally, true);
  const ms = [];
  for (let time = 0; time <= times; time += 1) {
    const joined = tally.next('crowd.joined', time);
    const begun = performance.now();
    await open.fanOut(time, time ? children : WARM_UP);
    await inTime(joined, `a fan-out of ${children}`);
    if (time) ms.push(performance.now() - begun);
    await untilEnded(client, peer, 2);
  }
  await open.close();
  tally.expect(['crowd.child'], WARM_UP + children * times);
  tally.expect(['crowd.joined'], times + 1);
  await nothingFailed(client, peer);
  return { ms };
}
