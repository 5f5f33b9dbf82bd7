import { chaosCommand } from './support/chaos-command';
import { ensureBuilt } from './support/built';

/** What `test/chaos/storm.mjs --json` says, as far as it is looked at here. */
interface Outcome {
  problems: string[];
  started: number;
  kills: number;
  restarts: number;
  stalls: { lease: number };
  runs: Record<string, number>;
  verbs: Record<string, { done: number }>;
  bodies: number;
  memberTries: number;
}

describe('a short storm', () => {
  beforeAll(ensureBuilt, 120_000);

  test('IDEM-06 IDEM-09 SWEEP-01 SWEEP-09 SWEEP-19 FAN-23 200 runs of every kind under random verbs, a worker killed every second and a crash of PostgreSQL: nothing is lost, doubled or left standing', async () => {
    const options = '--runs 200 --rate 25 --under-way 60 --restarts 1 --patience 30'.split(' ');
    const { result, code } = await chaosCommand<Outcome>('storm.mjs', ...options);
    expect(result.problems).toEqual([]);
    expect(code).toBe(0);

    // It was a storm, and the witnesses were awake.
    expect(result).toMatchObject({ started: 200, restarts: 1 });
    expect(result.kills).toBeGreaterThan(1);
    expect(result.stalls.lease).toBeGreaterThan(0);
    expect(result.runs.finished).toBeGreaterThan(0);
    expect(Object.values(result.verbs).reduce((sum, { done }) => sum + done, 0)).toBeGreaterThan(0);
    expect(result.bodies).toBeGreaterThan(result.started);
    expect(result.memberTries).toBeGreaterThan(0);
  }, 120_000);
});
