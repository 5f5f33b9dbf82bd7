import {
  AlreadyRunningError,
  InvalidTransitionError,
  NotPausedError,
  Step,
  Workflow,
  WorkflowOf,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { workflowSuite } from './support/suite';
import { Ticket, TicketLoader } from './support/ticket';

@Workflow({ subject: Ticket })
class Raced extends WorkflowOf<Ticket> {
  @Step()
  async one() {}

  @Step()
  async two() {}
}

interface Race {
  readonly verb: string;
  /** What it needs before. */
  readonly prepare?: (run: WorkflowHandle) => Promise<unknown>;
  readonly call: (run: WorkflowHandle) => Promise<unknown>;
  readonly event: string;
  readonly refusal: new (...args: never[]) => Error;
  /** Rows it adds to the run itself. */
  readonly rows: number;
}

const RACES: Race[] = [
  { verb: 'pause', call: (run) => run.pause(), event: 'paused', refusal: InvalidTransitionError, rows: 0 },
  {
    verb: 'resume',
    prepare: (run) => run.pause(),
    call: (run) => run.resume(),
    event: 'resumed',
    refusal: NotPausedError,
    rows: 0,
  },
  {
    verb: 'resumeAt',
    prepare: (run) => run.pause(),
    call: (run) => run.resumeAt('two'),
    event: 'resumed',
    refusal: NotPausedError,
    rows: 1,
  },
  { verb: 'cancel', call: (run) => run.cancel(), event: 'cancelled', refusal: InvalidTransitionError, rows: 0 },
  {
    verb: 'rerun',
    prepare: (run) => run.cancel(),
    call: (run) => run.rerun(),
    event: 'rerun',
    refusal: AlreadyRunningError,
    rows: 0,
  },
];

const ROUNDS = 60;
/** Rounds under way at once, each with two connections that wait. */
const AT_ONCE = 20;

describe('the same verb by two callers', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const bootIdle = () => suite.boot([Raced, TicketLoader], { worker: false, poolSize: AT_ONCE + 2 });

  test.each(RACES)(
    'OPS-18 two processes call $verb at once: one succeeds, the other gets the state error, one event',
    async ({ verb, prepare, call, event, refusal, rows }) => {
      const [here, there] = await Promise.all([bootIdle(), bootIdle()]);
      for (let round = 0; round < ROUNDS; round += AT_ONCE) {
        const subjects = Array.from({ length: AT_ONCE }, (_, index) => new Ticket(`${verb} ${round + index}`));
        const runs = await here.workflows.startMany(
          Raced,
          subjects.map((subject) => ({ subject })),
        );
        for (const run of runs) await prepare?.(run);
        const others = await Promise.all(runs.map((run) => there.workflows.find(run.id)));
        const lock = await holdRuns(
          suite,
          runs.map(({ id }) => id),
        );
        const calls = Promise.all(runs.map((run, index) => Promise.allSettled([call(run), call(others[index])])));
        await untilWaitingForLocks(suite, 2 * AT_ONCE);
        await lock.release();

        for (const [index, pair] of (await calls).entries()) {
          const [refused, ...both] = pair.filter((one) => one.status === 'rejected');
          expect(both).toEqual([]);
          expect(refused?.reason).toBeInstanceOf(refusal);
          const { id } = runs[index];
          expect(
            await sql('select name from workflow_events where workflow_id = $1 and name = $2', [id, event]),
          ).toHaveLength(1);
          expect(await sql('select id from workflow_steps where workflow_id = $1', [id])).toHaveLength(1 + rows);
        }
        const reruns = await sql('select count(*)::int as count from workflows where rerun_of = any($1::uuid[])', [
          runs.map(({ id }) => id),
        ]);
        expect(reruns).toEqual([{ count: verb === 'rerun' ? AT_ONCE : 0 }]);
      }
      await sql(`delete from workflows`);
      await sql(`delete from workflow_events`);
    },
  );

  test('OPS-18 runNow and reschedule leave the run ready, so both callers succeed, one after the other', async () => {
    const [here, there] = await Promise.all([bootIdle(), bootIdle()]);
    const date = new Date(Date.now() + 3_600_000);
    const run = await here.workflows.start(Raced, { subject: new Ticket('both') });
    const other = await there.workflows.find(run.id);
    for (const call of [(one: WorkflowHandle) => one.runNow(), (one: WorkflowHandle) => one.reschedule(date)]) {
      const lock = await holdRuns(suite, [run.id]);
      const calls = Promise.all([call(run), call(other)]);
      await untilWaitingForLocks(suite, 2);
      await lock.release();
      await calls;
    }
    expect(await suite.trail(run)).toEqual([
      'started',
      'step_scheduled',
      'run_now',
      'run_now',
      'rescheduled',
      'rescheduled',
    ]);
    expect(await run.steps()).toHaveLength(1);
    await run.cancel();
  });

  test('OPS-18 pause races cancel: whoever comes second is told, and the run ends in a state of the table', async () => {
    const [here, there] = await Promise.all([bootIdle(), bootIdle()]);
    const subjects = Array.from({ length: AT_ONCE }, (_, index) => new Ticket(`pause or cancel ${index}`));
    const runs = await here.workflows.startMany(
      Raced,
      subjects.map((subject) => ({ subject })),
    );
    const others = await Promise.all(runs.map((run) => there.workflows.find(run.id)));
    const lock = await holdRuns(
      suite,
      runs.map(({ id }) => id),
    );
    const calls = Promise.all(runs.map((run, index) => Promise.allSettled([run.pause(), others[index].cancel()])));
    await untilWaitingForLocks(suite, 2 * AT_ONCE);
    await lock.release();
    for (const [index, [paused, cancelled]] of (await calls).entries()) {
      expect(cancelled.status).toBe('fulfilled');
      const refused = paused.status === 'rejected';
      expect(paused).toMatchObject(refused ? { reason: { status: 'cancelled', verb: 'pause' } } : {});
      expect((await suite.trail(runs[index])).slice(2)).toEqual(refused ? ['cancelled'] : ['paused', 'cancelled']);
    }
  });

  test('OPS-18 OPS-20 verbs race the claims of two workers: every run ends whole', async () => {
    const boot = () => suite.boot([Raced, TicketLoader]);
    const [here, there] = await Promise.all([boot(), boot()]);
    const subjects = Array.from({ length: 100 }, (_, index) => new Ticket(`worker ${index}`));
    const runs = await here.workflows.startMany(
      Raced,
      subjects.map((subject) => ({ subject })),
    );
    const refusals = await Promise.all(
      runs.map(async (run, index) => {
        const handle = index % 2 ? await there.workflows.find(run.id) : run;
        const settled = await Promise.allSettled([handle.pause(), handle.runNow(), handle.resume()]);
        return settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown);
      }),
    );
    for (const refusal of refusals.flat()) expect(refusal).toBeInstanceOf(InvalidTransitionError);
    for (const run of runs) {
      const handle = await here.workflows.find(run.id);
      // It may have been paused after its resume was refused, by the one before it.
      if (handle.status !== 'paused') continue;
      await handle.resume().catch((error: unknown) => {
        // Its last step was at work, and has ended since.
        if (!(error instanceof NotPausedError) || error.status !== 'finished') throw error;
      });
    }
    for (const run of runs) {
      await until(run, 'finished');
      const started = (await suite.trail(run)).filter((name) => name === 'step_started');
      expect(started).toHaveLength(2);
    }
  });
});
