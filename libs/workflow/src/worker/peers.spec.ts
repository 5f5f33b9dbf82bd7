import { LookTimer } from './look-timer.js';
import { kindOf, Peers } from './peers.js';

/** Peers that draw these lots, again and again. */
const drawing = (...lots: number[]) => {
  let drawn = 0;
  return new Peers('ours', 1_000, () => lots[drawn++ % lots.length]!);
};

const crowd = (peers: Peers, others: number) => {
  for (let n = 0; n < others; n += 1) peers.heard(`worker ${n}`, 'ours');
  return peers;
};

describe('Peers', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('alone, and among four, a worker never waits', () => {
    expect(drawing(0.999).pause(1)).toBe(0);
    expect(crowd(drawing(0.999), 3).pause(1)).toBe(0);
  });

  test('among fifty, four of fifty lots look at once for one row, and the others within a second', () => {
    expect(crowd(drawing(0.079), 49).pause(1)).toBe(0);
    expect(crowd(drawing(0.081, 0.5), 49).pause(1)).toBe(500);
  });

  test('more rows are looked for by more at once: by all fifty, when there is something for each', () => {
    expect(crowd(drawing(0.479), 49).pause(6)).toBe(0);
    expect(crowd(drawing(0.481, 0.5), 49).pause(6)).toBe(500);
    expect(crowd(drawing(0.999), 49).pause(13)).toBe(0);
  });

  test('a worker that is heard again counts once; one of another kind does not count', () => {
    const peers = crowd(crowd(drawing(0), 5), 5);
    peers.heard('another', 'theirs');
    expect(peers.count).toBe(6);
  });

  test('a worker that is silent for too long is gone', () => {
    const peers = crowd(drawing(0), 5);
    jest.advanceTimersByTime(600);
    peers.heard('worker 1', 'ours');
    jest.advanceTimersByTime(600);
    expect(peers.count).toBe(2);
  });

  test('the kind is what is looked for, in whatever order it is listed', () => {
    expect(kindOf(['a', 'b'], ['X', 'Y'])).toBe(kindOf(['b', 'a'], ['Y', 'X']));
    const kinds = [kindOf(null, ['X']), kindOf(['a'], ['X']), kindOf(['a'], ['X', 'Y'])];
    expect(new Set(kinds).size).toBe(3);
  });
});

describe('LookTimer', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const looking = (peers: Peers) => {
    const look = jest.fn();
    return { look, timer: new LookTimer(look, peers) };
  };

  test('the earliest of all that is wanted is what it fires for, once', () => {
    const { look, timer } = looking(drawing(0));
    for (const delay of [500, 200, 900]) timer.in(delay);
    jest.advanceTimersByTime(199);
    expect(look).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1_000);
    expect(look).toHaveBeenCalledTimes(1);
  });

  test('among many it looks later than it was told, once, and draws no second lot', () => {
    const { look, timer } = looking(crowd(drawing(0.9, 0.4), 49));
    timer.in(100);
    jest.advanceTimersByTime(499);
    expect(look).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(look).toHaveBeenCalledTimes(1);
  });

  test('while it leaves something to others, what is told meanwhile is looked for with it', () => {
    const { look, timer } = looking(crowd(drawing(0.9, 0.4), 49));
    for (let told = 0; told < 20; told += 1) timer.fire();
    jest.advanceTimersByTime(1_000);
    expect(look).toHaveBeenCalledTimes(1);
  });

  test('what was left to others is not looked for again after a look in between', () => {
    const { look, timer } = looking(crowd(drawing(0.9, 0.4), 49));
    timer.fire();
    timer.looked();
    jest.advanceTimersByTime(1_000);
    expect(look).not.toHaveBeenCalled();
  });

  test('a look in between leaves the timer for what comes due later', () => {
    const { look, timer } = looking(drawing(0));
    timer.in(500);
    timer.looked();
    jest.advanceTimersByTime(1_000);
    expect(look).toHaveBeenCalledTimes(1);
  });

  test('stopped, it does not look any more', () => {
    const { look, timer } = looking(drawing(0));
    timer.in(10);
    timer.stop();
    jest.advanceTimersByTime(100);
    expect(look).not.toHaveBeenCalled();
  });
});
