import { randomUUID } from 'node:crypto';
import { CancelIf, NotPausedError, Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { channelOf } from '../libs/workflow/src/store/channel';
import { tablesOf } from '../libs/workflow/src/store/tables';
import { attempts } from './support/attempts';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { allRows } from './support/rows';
import { held, script, Scripted } from './support/scripted';
import { gate, workflowSuite } from './support/suite';

type Hook = (ctx: StepContext) => unknown;

const guards = new Map<string, Hook>();
const performed: string[] = [];

@Workflow()
class Guarded extends WorkflowOf<null, { key: string }> {
  @CancelIf() async guard(ctx: Ctx<this>) {
    await guards.get(ctx.args.key)?.(ctx);
  }
  @Step() async one(ctx: Ctx<this>) {
    performed.push(`${ctx.workflowId} one`);
  }
  @Step() async two(ctx: Ctx<this>) {
    performed.push(`${ctx.workflowId} two`);
  }
}

@Workflow()
class Plain extends WorkflowOf {
  @Step() async one(ctx: Ctx<this>) {
    performed.push(`${ctx.workflowId} one`);
  }
  @Step() async two(ctx: Ctx<this>) {
    performed.push(`${ctx.workflowId} two`);
  }
}

@Workflow()
class Tomorrow extends WorkflowOf {
  @Step({ wait: '1 day' }) async one() {
    performed.push('too early');
  }
}

@Workflow({ onException: { action: 'reattempt', maxReattempts: 1 } })
class Thrice extends WorkflowOf<null, { script: string }> {
  @Step() async one() {
    performed.push('one');
  }
  @Step() async two() {
    performed.push('two');
    throw new Error('always');
  }
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

describe('one execution an attempt', () => {
  const suite = workflowSuite();

  beforeEach(() => {
    performed.length = 0;
  });

  test('IDEM-06 resume and policies never run a completed step again; resumeAt does', async () => {
    const { workflows } = await suite.boot([Thrice]);
    const run = await workflows.start(Thrice, script({}));
    await suite.until(run, 'paused');
    expect(performed).toEqual(['one', 'two', 'two']);
    await run.resume();
    await suite.eventually(async () => (await run.steps()).length === 5, 'two more attempts');
    await suite.until(run, 'paused');
    expect(performed).toEqual(['one', 'two', 'two', 'two', 'two']);
    performed.length = 0;
    await run.resumeAt('one');
    await suite.eventually(() => performed.length === 3, 'the steps ran again');
    await suite.until(run, 'paused');
    expect(performed).toEqual(['one', 'two', 'two']);
    expect(await attempts(run)).toEqual([
      'one#1 completed',
      'two#1 failed, reattempted: Error',
      'two#2 failed, paused: Error',
      'two#3 failed, reattempted: Error',
      'two#4 failed, paused: Error',
      'one#2 completed',
      // Five was scheduled after the failure of four had paused the run: a new count.
      'two#5 failed, reattempted: Error',
      'two#6 failed, paused: Error',
    ]);
  });

  test('IDEM-07 workers that claim at once: each row is executed by one, once, and nothing tells of the others', async () => {
    const starter = await suite.boot([Plain, Guarded], { worker: false });
    const workers = await Promise.all(
      Array.from({ length: 3 }, () => suite.boot([Plain, Guarded], { worker: { concurrency: 4, pollInterval: 5 } })),
    );
    const runs = [
      ...(await starter.workflows.startMany(
        Plain,
        times(40, () => ({})),
      )),
      ...(await starter.workflows.startMany(
        Guarded,
        times(20, () => ({ args: { key: 'none' } })),
      )),
    ];
    for (const run of runs) await suite.until(run, 'finished');
    expect(performed.toSorted()).toEqual(runs.flatMap(({ id }) => [`${id} one`, `${id} two`]).toSorted());
    const [row] = await suite.sql(
      `select max(claim_no) as claims, count(distinct worker_id)::int as workers, count(*)::int as rows from workflow_steps
       where workflow_id = any($1)`,
      [runs.map(({ id }) => id)],
    );
    expect(row).toMatchObject({ claims: 1, rows: 120 });
    for (const { id } of runs) expect(await suite.trail(id)).toHaveLength(8);
    expect(workers.flatMap(({ reported }) => reported)).toEqual([]);
  });

  test('IDEM-07 a guarded row that one worker has in hand is passed by by the other', async () => {
    const first = await suite.boot([Guarded, Scripted]);
    const second = await suite.boot([Guarded, Scripted], { worker: { pollInterval: 5 } });
    const inGuard = gate();
    const go = gate();
    const key = randomUUID();
    let asked = 0;
    guards.set(key, async ({ stepName }) => {
      if (stepName !== 'one') return;
      asked += 1;
      inGuard.open();
      await go.opened;
    });
    const run = await first.workflows.start(Guarded, { args: { key } });
    await inGuard.opened;
    // Both go on working meanwhile.
    for (const { workflows } of [first, second])
      await suite.until(await workflows.start(Scripted, script({})), 'finished');
    go.open();
    await suite.until(run, 'finished');
    expect(asked).toBe(1);
    expect(performed).toEqual([`${run.id} one`, `${run.id} two`]);
    expect(await suite.trail(run)).toHaveLength(8);
  });

  test('IDEM-07 a notice for a row that is not due, not scheduled, or of a run that is not ready changes nothing', async () => {
    const { workflows, dataSource } = await suite.boot([Tomorrow, Plain, Scripted, Guarded]);
    const early = await workflows.start(Tomorrow);
    const paused = await workflows.start(Tomorrow);
    await paused.pause();
    const cancelled = await workflows.start(Tomorrow);
    await cancelled.cancel();
    const failed = await workflows.start(
      Scripted,
      script({
        one: () => {
          throw new Error('failed');
        },
      }),
    );
    await suite.until(failed, 'paused');
    const before = await allRows(suite.sql);
    const channel = channelOf(tablesOf(dataSource));
    const notify = (payload: unknown) => suite.sql('select pg_notify($1, $2)', [channel, payload]);
    for (const notice of [
      [null, 'due', 'default', 0, 0],
      [null, 'due', 'default', 0, -1e9],
      [null, 'due', 'default', -7, 1e12],
      [null, 'due', 'elsewhere', 3, 0],
      [null, 'cancelled', '0'],
      [null, 'cancelled', 'not an id'],
      [null, 'due'],
      'no notice at all',
      null,
    ]) {
      await notify(JSON.stringify(notice));
    }
    await notify('{ no json');
    expect(await allRows(suite.sql)).toEqual(before);
    // It has heard them all, for it hears one that was sent after them, and works on.
    const one = held();
    const working = await workflows.start(Scripted, script({ one: one.body }));
    const { abortSignal } = await one.reached;
    const aborted = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    await notify(JSON.stringify([null, 'cancelled', (await working.steps())[0].id]));
    await aborted;
    one.release();
    await suite.until(working, 'finished');
    expect(performed).not.toContain('too early');
    expect((await early.reload()).status).toBe('ready');
    expect((await paused.reload()).status).toBe('paused');
    expect(await suite.trail(cancelled)).toEqual(['started', 'step_scheduled', 'cancelled']);
  });

  test('IDEM-07 a row that is due and whose run somebody holds is taken once that is free, and once only', async () => {
    const { workflows } = await suite.boot([Plain, Guarded], { worker: false });
    const runs = [await workflows.start(Plain), await workflows.start(Guarded, { args: { key: 'none' } })];
    const hold = await holdRuns(
      suite,
      runs.map(({ id }) => id),
    );
    const other = await suite.boot([Plain, Guarded]);
    const free = await other.workflows.start(Plain);
    await suite.until(free, 'finished');
    for (const run of runs) expect((await run.reload()).status).toBe('ready');
    await hold.release();
    for (const run of runs) await suite.until(run, 'finished');
    expect(performed).toHaveLength(6);
  });

  test('IDEM-08 a second row of the same run, step and attempt cannot be inserted', async () => {
    const { workflows } = await suite.boot([Tomorrow], { worker: false });
    const run = await workflows.start(Tomorrow);
    const copy = (status: string) =>
      suite.sql(
        `insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, priority, scheduled_at, finished_at)
         select workflow_id, handler, step_name, attempt, $2, queue, priority, scheduled_at, now() from workflow_steps where workflow_id = $1`,
        [run.id, status],
      );
    await expect(copy('completed')).rejects.toMatchObject({ code: '23505', constraint: 'workflow_steps_one_attempt' });
    expect(await run.steps()).toHaveLength(1);
  });

  test('IDEM-08 two resumes at once schedule one attempt; the other meets its status', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const run = await workflows.start(
      Scripted,
      script({
        one: ({ attempt }) => {
          if (attempt === 1) throw new Error('once');
        },
      }),
    );
    await suite.until(run, 'paused');
    const hold = await holdRuns(suite, [run.id]);
    const both = [await workflows.find(run.id), await workflows.find(run.id)].map((handle) => handle.resume());
    const settled = Promise.allSettled(both);
    await untilWaitingForLocks(suite, 2);
    await hold.release();
    const results = await settled;
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = results.find((result) => result.status === 'rejected');
    expect(refused!.reason).toBeInstanceOf(NotPausedError);
    await suite.until(run, 'finished');
    expect((await attempts(run)).slice(0, 2)).toEqual(['one#1 failed, paused: Error', 'one#2 completed']);
    expect((await suite.trail(run)).filter((name) => name === 'resumed')).toHaveLength(1);
  });
});
