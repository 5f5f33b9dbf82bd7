import { durationsOf, durationsText, type AttemptTimes } from './attempt-durations.js';

const TIMES: AttemptTimes = {
  status: 'completed',
  created_at: 1_000,
  scheduled_at: 1_000,
  waiting_since: null,
  started_at: null,
  finished_at: null,
  held: false,
  now: 100_000,
};
const text = (times: Partial<AttemptTimes>) => durationsText(durationsOf({ ...TIMES, ...times }));

describe('the parts of an attempt', () => {
  test.each<[string, Partial<AttemptTimes>, string]>([
    ['ran at once', { started_at: 1_008, finished_at: 2_208 }, 'queued 8ms, ran 1.2s'],
    ['continued in place', { started_at: 1_000, finished_at: 1_005 }, 'queued 0ms, ran 5ms'],
    ['had a wait', { scheduled_at: 61_000, started_at: 61_050, finished_at: 62_050 }, 'waited 1m, queued 50ms, ran 1s'],
    ['waits for its time', { status: 'scheduled', scheduled_at: 200_000 }, 'waited 1m 39s'],
    ['is due', { status: 'scheduled' }, 'queued 1m 39s'],
    ['is due, and its run is paused', { status: 'scheduled', held: true }, ''],
    ['is at work', { status: 'in_progress', started_at: 90_000 }, 'queued 1m 29s, ran 10s'],
    ['waits for a signal', { status: 'waiting', waiting_since: 1_010 }, 'waited 1m 39s'],
    [
      'was woken by a signal',
      { waiting_since: 1_010, scheduled_at: 51_000, started_at: 51_002, finished_at: 52_002 },
      'waited 50s, queued 2ms, ran 1s',
    ],
    ['was skipped while it waited', { status: 'skipped', waiting_since: 1_010, finished_at: 31_000 }, 'waited 30s'],
    ['was cancelled before its time', { status: 'cancelled', scheduled_at: 99_000, finished_at: 3_000 }, 'waited 2s'],
    [
      'fanned out: until its last member ended',
      { started_at: 1_001, waiting_since: 1_101, finished_at: 21_001 },
      'queued 1ms, ran 20s',
    ],
  ])('DASH-05 an attempt that %s', (_, times, expected) => expect(text(times)).toBe(expected));
});
