import { judge, type Sample } from './chaos/soak/judge.mjs';
import { chaosCommand } from './support/chaos-command';
import { ensureBuilt } from './support/built';

/** What `test/chaos/soak.mjs --json` says, as far as it is looked at here. */
interface Outcome {
  problems: string[];
  started: number;
  deleted: number;
  judgements: { name: string; second: number; last: number; ratio: number; verdict: string }[];
  samples: Sample[];
}

/** Sixteen samples of a system at rest, changed by `change`. */
function samples(change: (sample: Sample, index: number) => Partial<Sample> = () => ({})): Sample[] {
  const tables = { workflows: 20, workflow_steps: 60, workflow_events: 80, workflow_signals: 5 };
  return Array.from({ length: 16 }, (_, index) => {
    const wobble = index % 2 ? 1.02 : 0.98;
    const sample: Sample = {
      at: index * 10,
      stepsPerSecond: 400 * wobble,
      openRuns: Math.round(100 * wobble),
      databaseMsPerStep: 1.5 * wobble,
      heapMb: 80 * wobble,
      deadTuples: Math.round(20_000 * wobble),
      tableMb: tables,
      indexMb: tables,
    };
    return { ...sample, ...change(sample, index) };
  });
}

const unlevel = (given: Sample[]) =>
  judge(given)
    .filter(({ verdict }) => verdict !== 'level')
    .map(({ name, verdict }) => `${name} ${verdict}`);

describe('the judge of the soak', () => {
  test('what wobbles around one value is level, also when it began elsewhere', () => {
    expect(unlevel(samples())).toEqual([]);
    expect(unlevel(samples(({ heapMb }, index) => (index < 4 ? { heapMb: heapMb / 4 } : {})))).toEqual([]);
  });

  test.each<[string, (sample: Sample, index: number) => Partial<Sample>, string]>([
    ['a heap', ({ heapMb }, index) => ({ heapMb: heapMb + index * 3 }), 'heap of the workers, MB grows'],
    ['dead tuples', ({ deadTuples }, index) => ({ deadTuples: deadTuples * (1 + index / 8) }), 'dead tuples grows'],
    [
      'a table',
      ({ tableMb }, index) => ({ tableMb: { ...tableMb, workflow_steps: 60 + index * 4 } }),
      'workflow_steps, MB grows',
    ],
    [
      'an index',
      ({ indexMb }, index) => ({ indexMb: { ...indexMb, workflow_events: 80 * 1.05 ** index } }),
      'indexes of workflow_events, MB grows',
    ],
    ['a backlog', ({ openRuns }, index) => ({ openRuns: openRuns + index * 50 }), 'runs under way grows'],
    [
      'the cost of a step',
      ({ databaseMsPerStep }, index) => ({ databaseMsPerStep: databaseMsPerStep * (1 + index / 8) }),
      'database ms a step grows',
    ],
  ])('%s that grows is said to grow', (_, change, verdict) => {
    expect(unlevel(samples(change))).toEqual([verdict]);
  });

  test('a throughput that falls is said to fall', () => {
    expect(unlevel(samples((_, index) => ({ stepsPerSecond: 400 - index * 12 })))).toEqual(['steps/s falls']);
  });

  test('too few samples have no verdict', () => {
    expect(() => judge(samples().slice(0, 7))).toThrow('7 samples are too few to judge by; 8 are needed');
  });
});

describe('a short soak', () => {
  beforeAll(ensureBuilt, 120_000);

  test('SWEEP-14 under a load that is sampled, ended runs are deleted again, and every run ends', async () => {
    const options = '--minutes 0.2 --rate 20 --sample-every 1 --retention 2 --sweep-every 1'.split(' ');
    const { result } = await chaosCommand<Outcome>('soak.mjs', ...options);

    // Whether ten seconds are level is up to the machine: that they were judged is not.
    const verdicts = result.judgements.filter(({ verdict }) => verdict !== 'level').map(({ name }) => name);
    expect(result.problems.filter((problem) => !verdicts.some((name) => problem.startsWith(name)))).toEqual([]);
    expect(result.samples).toHaveLength(12);
    expect(result.judgements).toHaveLength(13);
    for (const { second, last } of result.judgements.slice(0, 4)) expect(Math.min(second, last)).toBeGreaterThan(0);
    expect(result.deleted).toBeGreaterThan(0);
    expect(result.started).toBeGreaterThan(result.deleted);
  }, 120_000);
});
