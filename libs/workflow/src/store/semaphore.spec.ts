import { setImmediate as turn } from 'node:timers/promises';
import { Semaphore } from './semaphore.js';

describe('a semaphore', () => {
  test('never lets more in than it has places, while holders come and go', async () => {
    const semaphore = new Semaphore(3, 60_000);
    let inside = 0;
    let most = 0;
    const one = async () => {
      most = Math.max(most, (inside += 1));
      await turn();
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 200 }, () => semaphore.hold(one)));
    expect(most).toBe(3);
  });

  test('lets one more in when all stand still: holders that wait for others in the line come to their end', async () => {
    const semaphore = new Semaphore(2, 5);
    const nested = (depth: number): Promise<number> =>
      semaphore.hold(async () => (depth === 0 ? 0 : 1 + (await nested(depth - 1))));
    await expect(Promise.all([nested(4), nested(4), nested(4)])).resolves.toEqual([4, 4, 4]);
    // And then it has its places again, no more and no less.
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        new Semaphore(1).hold(() =>
          semaphore.hold(async () => {
            most = Math.max(most, (inside += 1));
            await turn();
            inside -= 1;
          }),
        ),
      ),
    );
    expect(most).toBe(2);
  });
});
