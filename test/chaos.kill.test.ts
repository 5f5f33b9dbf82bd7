import { Ledger } from './chaos/kill/ledger.mjs';
import type { Round } from './chaos/kill/lane.mjs';
import { playMatrix, type Job } from './chaos/kill/matrix.mjs';
import { audit, type Story } from './chaos/kill/observe.mjs';
import { POINTS, STALL_ACTIONS } from './chaos/kill/points.mjs';
import { ensureBuilt } from './support/built';
import { createTestDatabase } from './support/database';
import { gate } from './support/suite';

/** Under an action that leaves the run paused, or cancels it: two points. All the others are tried again. */
const OTHERWISE = ['after the claim', 'before a transactional step commits'];
const LANES = 3;

const jobs: Job[] = STALL_ACTIONS.flatMap((action) =>
  POINTS.filter(({ name }) => action === 'reattempt' || OTHERWISE.includes(name)).map((point, from) => ({
    point,
    action,
    // Even: a worker that begins after the kill finds it; odd: one that is there before.
    from,
    rounds: 1,
  })),
);

const AFTER_A_STALL = {
  pause: { shows: 'SWEEP-04', story: 'paused, and it finishes when resumed', end: 'paused', resumed: true },
  reattempt: { shows: 'SWEEP-05', story: 'tried again', end: 'finished', resumed: false },
  cancel: { shows: 'SWEEP-06', story: 'cancelled', end: 'cancelled', resumed: false },
};

/** What is to come of it, and a sentence that says so. */
function expected({ point, action }: Job) {
  const { name, shows, does, follows } = point;
  const what = does === 'kill' ? `killed ${name}` : name;
  switch (follows) {
    case 'stall': {
      const { shows: alsoShows, story, end, resumed } = AFTER_A_STALL[action];
      const sentence = `${shows} ${alsoShows} SWEEP-07 ${what}: stalled by its lease, ${story}`;
      return { sentence, came: { problems: [], detections: ['lease'], end, resumed } };
    }
    case 'dead letter':
      return {
        sentence: `${shows} ${what}: it is dead-lettered, and its run paused`,
        came: { problems: [], detections: [], end: 'paused', resumed: true },
      };
    case 'nothing':
      return {
        sentence: `${shows} ${what}: the run goes on as if nothing had been`,
        came: { problems: [], detections: [], end: 'finished', resumed: false },
      };
  }
}

/** The short form of `npm run test:chaos`: a round of each point, real processes of the built package. */
describe('killed and cut off', () => {
  const rounds = new Map(jobs.map((job) => [job, gate<Round>()]));
  let over: Promise<void>;

  beforeAll(() => {
    ensureBuilt();
    const newPlace = async () => {
      const database = await createTestDatabase();
      const ledger = await Ledger.create(process.env.WORKFLOWS_TEST_DATABASE_URL!, `${database.name}_ledger`);
      return { database, ledger };
    };
    const played = (round: Round) => {
      const job = jobs.find(({ point, action }) => point.name === round.point && action === round.action)!;
      rounds.get(job)!.open(round);
    };
    over = playMatrix({ jobs, lanes: LANES, newPlace, played });
    // A test that waits for its round reports it.
    over.catch(() => undefined);
  }, 60_000);

  afterAll(() => over);

  test.each(jobs.map((job) => ({ job, ...expected(job) })))('$sentence', async ({ job, came }) => {
    // When the whole matrix fails, so does every test.
    const round = await Promise.race([rounds.get(job)!.opened, over.then(() => rounds.get(job)!.opened)]);
    const { problems, detections, end, resumed } = round;
    expect({ problems, detections, end, resumed }).toEqual(came);
  });
});

describe('the audit of what steps have done', () => {
  const at = (second: number) => new Date(second * 1_000);
  const row = { step: 'two', attempt: 1, member: -1, status: 'completed', ended: at(10), error: null };
  const doer = { run: 'r', step: 'two', attempt: 1, member: -1, tried: 1 };
  const plain = { ...doer, kind: 'plain' as const, at: at(9) };
  const keyed = { ...doer, kind: 'keyed' as const, at: at(9) };
  const story: Story = {
    workflow: 'Transactional',
    status: 'finished',
    rows: [row],
    events: [{ name: 'finished', detection: null }],
    written: [{ step: 'two', attempt: 1 }],
    effects: [plain, keyed],
  };
  const problemsIn = (change: Partial<Story>) => audit({ ...story, ...change }, { failure: null, late: 0 }).problems;

  test('finds nothing where all is right', () => {
    expect(problemsIn({})).toEqual([]);
  });

  test.each<[string, Partial<Story>, RegExp]>([
    ['no effect', { effects: [keyed] }, /has had no effect/],
    ['a keyed effect less', { effects: [plain] }, /keyed effect .* happened 0 times/],
    ['a keyed effect more', { effects: [plain, keyed, keyed] }, /keyed effect .* happened 2 times/],
    ['a body that ran twice', { effects: [plain, plain, keyed] }, /body of two attempt 1 try 1 ran 2 times/],
    ['an effect after completion', { effects: [plain, keyed, { ...plain, attempt: 2, at: at(11) }] }, /happened again/],
    ['a write too few', { written: [] }, /wrote in its transaction is there 0 times/],
    ['a write of another attempt', { written: [{ step: 'two', attempt: 2 }] }, /wrote in its transaction/],
    ['a stall', { events: [{ name: 'stall_detected', detection: 'lease' }] }, /"stalls":1/],
    ['a late outcome', { events: [{ name: 'late_completion_ignored', detection: null }] }, /"late":1/],
    ['a failure', { rows: [row, { ...row, attempt: 2, status: 'failed', error: 'TypeError' }] }, /TypeError/],
  ])('finds %s', (_what, change, found) => {
    expect(problemsIn(change).join('\n')).toMatch(found);
  });
});
