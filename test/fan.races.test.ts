import {
  FanOut,
  InvalidTransitionError,
  NotPausedError,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobContext,
  type JobHandler,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { RACE_ROUNDS } from './support/rounds';
import { brokenInvariants } from './support/invariants';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { workflowSuite } from './support/suite';

/** The members that are at work, each held until it is let go. */
let atWork: { readonly workflowId: string; readonly go: () => void }[] = [];

@WorkflowJob()
class Member implements JobHandler {
  async perform(_args: unknown, { workflowId }: JobContext) {
    await new Promise<void>((go) => atWork.push({ workflowId, go }));
  }
}

@Workflow()
class Pair extends WorkflowOf {
  @FanOut()
  async fan(_ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(Member, {}, { queue: 'left' });
    batch.add(Member, {}, { queue: 'right' });
  }
}

@Workflow()
class Single extends WorkflowOf {
  @FanOut()
  async fan(_ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(Member, {}, { queue: 'left' });
  }

  @Step({ jobOptions: { queue: 'left' } })
  async after() {}
}

function unlessNotPaused(error: unknown): void {
  if (!(error instanceof NotPausedError)) throw error;
}

const ROUNDS = RACE_ROUNDS;
/** Rounds under way at once. */
const AT_ONCE = 25;

describe('races at the end of a batch', () => {
  const suite = workflowSuite();
  const { sql } = suite;

  /** A worker that can hold a connection for each of the runs of a round. */
  const bootWorker = (queue: string) =>
    suite.boot([Pair, Single, Member], {
      poolSize: AT_ONCE + 8,
      worker: { queues: [queue], concurrency: 2 * AT_ONCE, connections: AT_ONCE + 4, pollInterval: '1s' },
    });

  const untilAtWork = (members: number) =>
    suite.eventually(() => atWork.length === members, `${members} members are at work`);

  /** Lets the members of these runs end. */
  function release(runs: readonly WorkflowHandle[]): void {
    const ids = new Set(runs.map(({ id }) => id));
    for (const { workflowId, go } of atWork) if (ids.has(workflowId)) go();
  }

  /** How often the event stands on each run's trail. */
  async function counts(runs: readonly WorkflowHandle[], event: string): Promise<number[]> {
    const rows = await sql<{ count: number }>(
      `select (select count(*)::int from workflow_events e where e.workflow_id = run.id and e.name = $2) as count
       from unnest($1::uuid[]) with ordinality as run(id, place) order by place`,
      [runs.map(({ id }) => id), event],
    );
    return rows.map(({ count }) => count);
  }

  /** Waits until every run has ended. */
  const untilEnded = (runs: readonly WorkflowHandle[]) =>
    suite.eventually(async () => {
      const [row] = await sql<{ ended: number }>(
        'select count(ended_at)::int as ended from workflows where id = any($1::uuid[])',
        [runs.map(({ id }) => id)],
      );
      return row.ended === runs.length;
    }, 'every run has ended');

  /** Which of the two events stands first on each run's trail. */
  async function firstOf(runs: readonly WorkflowHandle[], ...events: string[]): Promise<string[]> {
    const rows = await sql<{ name: string }>(
      `select (select e.name from workflow_events e where e.workflow_id = run.id and e.name = any($2::text[]) order by e.id limit 1) as name
       from unnest($1::uuid[]) with ordinality as run(id, place) order by place`,
      [runs.map(({ id }) => id), events],
    );
    return rows.map(({ name }) => name);
  }

  async function checkAndClear(): Promise<void> {
    expect(await brokenInvariants({ query: sql })).toEqual([]);
    await sql('delete from workflows');
    await sql('delete from workflow_events');
  }

  /** Holds the rows of the members, as a settlement does. */
  const holdMembers = (runs: readonly WorkflowHandle[]) =>
    holdRuns(
      suite,
      runs.map(({ id }) => id),
      `select from workflow_steps where workflow_id = any($1::uuid[]) and member_index >= 0 order by id for no key update`,
    );

  test(`FAN-18 FAN-06 the last two members end together, in two processes: exactly one join (${ROUNDS} times)`, async () => {
    const [left] = await Promise.all([bootWorker('left'), bootWorker('right')]);
    await suite.boot([Pair, Single, Member], { worker: { queues: ['default'] } });
    for (let done = 0; done < ROUNDS; done += AT_ONCE) {
      atWork = [];
      const runs = await left.workflows.startMany(
        Pair,
        Array.from({ length: AT_ONCE }, () => ({})),
      );
      await untilAtWork(2 * AT_ONCE);
      const members = await holdMembers(runs);
      const locked = await holdRuns(
        suite,
        runs.map(({ id }) => id),
      );
      release(runs);
      // Both processes' settlements stand before the members' rows, and go through together.
      await untilWaitingForLocks(suite, 2);
      await members.release();
      // One process at least was the last to each batch: it stands before the run.
      await untilWaitingForLocks(suite, AT_ONCE);
      await locked.release();
      await untilEnded(runs);
      expect(await counts(runs, 'finished')).toEqual(runs.map(() => 1));
      expect(await counts(runs, 'fan_out_finished')).toEqual(runs.map(() => 1));
      expect(await counts(runs, 'step_completed')).toEqual(runs.map(() => 1));
      await checkAndClear();
    }
  }, 240_000);

  const VERBS: [string, (run: WorkflowHandle) => Promise<unknown>, string][] = [
    ['skip', (run) => run.skip(), 'step_skipped'],
    ['cancel', (run) => run.cancel(), 'cancelled'],
    ['pause', (run) => run.pause(), 'paused'],
  ];

  test.each(VERBS)(
    `FAN-19 FAN-21 a member’s end against %s of its run: one comes first, and the run ends whole (${ROUNDS} times)`,
    async (verb, call, event) => {
      await bootWorker('left');
      await suite.boot([Pair, Single, Member], { worker: { queues: ['default'] } });
      const callers = await suite.boot([Pair, Single, Member], { worker: false, poolSize: AT_ONCE + 2 });
      const first = { end: 0, verb: 0 };
      for (let done = 0; done < ROUNDS; done += AT_ONCE) {
        atWork = [];
        const runs = await callers.workflows.startMany(
          Single,
          Array.from({ length: AT_ONCE }, () => ({})),
        );
        const odd = runs.filter((_, index) => index % 2 === 1);
        const even = runs.filter((run) => !odd.includes(run));
        await untilAtWork(AT_ONCE);
        const locked = await holdRuns(
          suite,
          runs.map(({ id }) => id),
        );
        // In half of them the member comes first to the run's lock, in half the verb does.
        const settled = new Map<WorkflowHandle, Promise<PromiseSettledResult<unknown>>>();
        const callAll = (some: readonly WorkflowHandle[]) => {
          for (const run of some)
            settled.set(
              run,
              Promise.allSettled([call(run)]).then(([one]) => one),
            );
        };
        callAll(even);
        release(odd);
        await untilWaitingForLocks(suite, AT_ONCE);
        callAll(odd);
        release(even);
        await untilWaitingForLocks(suite, 2 * AT_ONCE);
        await locked.release();

        const results = await Promise.all(runs.map((run) => settled.get(run)!));
        const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
        expect(refusals.filter((error) => !(error instanceof InvalidTransitionError))).toEqual([]);
        if (verb === 'pause') {
          await suite.eventually(
            async () => (await counts(runs, 'fan_out_finished')).every((count) => count === 1),
            'every end is recorded',
          );
          // A run that was paused in its last step has finished all the same.
          await Promise.all(runs.map((run) => run.resume().catch(unlessNotPaused)));
        }
        await untilEnded(runs);

        const order = await firstOf(runs, event, 'fan_out_finished');
        // The verb left its one event, or was refused and left none.
        expect(await counts(runs, event)).toEqual(results.map(({ status }) => (status === 'fulfilled' ? 1 : 0)));
        // Only after a skip or a cancel that came first is there nothing to join.
        const joined = order.map((name) => (name === event && verb !== 'pause' ? 0 : 1));
        expect(await counts(runs, 'fan_out_finished')).toEqual(joined);
        for (const name of order) first[name === event ? 'verb' : 'end'] += 1;
        await checkAndClear();
      }
      expect(first.end + first.verb).toBe(ROUNDS);
      expect(Math.min(first.end, first.verb)).toBeGreaterThan(ROUNDS / 4);
    },
    240_000,
  );
});
