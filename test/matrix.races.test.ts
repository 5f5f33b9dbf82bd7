import { join } from '../libs/workflow/src/engine/join';
import { brokenInvariants } from './support/invariants';
import { ACTS } from './support/race-acts';
import { Arena, AT_ONCE } from './support/race-arena';
import { Conductor } from './support/race-conductor';
import { Pair } from './support/race-pairs';
import { SCENERY } from './support/race-workflows';
import { Side } from './support/race-sides';
import { workflowSuite } from './support/suite';

/**
 * Everything that changes a run against everything else that does, each pair in every scene in which one of the two, or both, can. What a race
 * leaves must be what one of the two orders leaves, which are played on fresh runs, one act after the other.
 *
 * Half as often as other races where time is no matter (`npm run test:races`: 500 rounds a pair), and a handful of times else.
 */
const ROUNDS = Number(process.env.MATRIX_ROUNDS ?? 9);
/** Rounds whose runs are brought into their scenes together. */
const CHUNK = 5 * AT_ONCE;

jest.setTimeout(60_000 + ROUNDS * 1_000);

describe('every act against every other', () => {
  let conductor: Conductor;
  // Registered before the suite's, which drops the database.
  afterAll(() => conductor?.end());

  const suite = workflowSuite();
  const { sql } = suite;

  beforeAll(async () => {
    conductor = await Conductor.of(suite);
  });

  // What a test that failed has left.
  beforeEach(async () => {
    await sql('delete from workflows');
    await sql('delete from workflow_events');
  });

  const boot = () => suite.boot(SCENERY, { worker: false, poolSize: 2 * AT_ONCE + 2 });

  test.each(ACTS)(
    `OPS-18 OPS-20 OPS-33 IDEM-07 WAIT-11 FAN-18 SWEEP-09 %s against itself and those that follow it (${ROUNDS} rounds a pair): one order or the other`,
    async (act) => {
      const [one, other] = await Promise.all([boot(), boot()]);
      const sides = { here: new Side(one, true), alone: new Side(one, false), there: new Side(other, false) };
      const arena = new Arena(sql, conductor, sides);
      const first = { here: 0, there: 0 };
      for (const against of ACTS.slice(ACTS.indexOf(act))) {
        const pair = new Pair(act, against);
        const rounds = pair.rounds(ROUNDS);
        const serial = await arena.inOrder(pair, [...new Set(rounds.map(({ scene }) => scene))]);
        for (let from = 0; from < rounds.length; from += CHUNK) {
          const raced = await arena.race(pair, rounds.slice(from, from + CHUNK), serial);
          expect(raced.odd.join('\n\n')).toBe('');
          first.here += raced.first.here;
          first.there += raced.first.there;
          await expectWhole(pair, sides.here);
        }
      }
      // They were races: it came first, and it came second.
      expect(Math.min(first.here, first.there)).toBeGreaterThan(0);
      await Promise.all([one.close(), other.close()]);
      expect(await sql('select deadlocks::int from pg_stat_database where datname = current_database()')).toEqual([
        { deadlocks: 0 },
      ]);
    },
  );

  /** What a race left to the next look is done: batches that are over are joined. Then everything must be right. */
  async function expectWhole({ name }: Pair, { parts }: Side): Promise<void> {
    const over = await sql<{ id: string; workflow_id: string }>(
      `select s.id, s.workflow_id from workflow_steps s where s.status = 'waiting' and s.batch_size is not null`,
    );
    await Promise.all(over.map(({ id, workflow_id: workflowId }) => join(parts, { id, workflowId })));
    expect({ name, broken: await brokenInvariants({ query: sql }) }).toEqual({ name, broken: [] });
    await sql('delete from workflows');
    await sql('delete from workflow_events');
  }
});
