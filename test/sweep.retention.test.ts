import {
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { fanning, fanScript, membersOf, Task } from './support/fan';
import { holdRuns } from './support/locks';
import { captureLog } from './support/log';
import { script, Scripted } from './support/scripted';
import { Signalled, signalScript } from './support/signalled';
import { workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, sweep } from './support/sweep';

const Fans = fanning('KeptFans');

@Workflow()
class Stranger extends WorkflowOf {
  @Step()
  async only(_ctx: Ctx<this>) {}
}

describe('retention', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;

  afterEach(() => jest.restoreAllMocks());

  /** The run ended so long ago. */
  const endedAgo = (ago: string, ...runs: readonly WorkflowHandle[]) =>
    sql('update workflows set ended_at = statement_timestamp() - $2::interval where id = any($1::uuid[])', [
      runs.map(({ id }) => id),
      ago,
    ]);

  /** Which of these runs are there: whole, or with any row of theirs. */
  async function left(runs: readonly WorkflowHandle[]): Promise<boolean[]> {
    const rows = await sql<{ id: string }>(
      `select id from workflows where id = any($1::uuid[])
       union select workflow_id from workflow_steps where workflow_id = any($1::uuid[])
       union select workflow_id from workflow_events where workflow_id = any($1::uuid[])
       union select workflow_id from workflow_signals where workflow_id = any($1::uuid[])`,
      [runs.map(({ id }) => id)],
    );
    return runs.map((run) => rows.some(({ id }) => id === run.id));
  }

  /** A sweep of a process that has deleted nothing yet. */
  async function sweepAnew(
    classes: Parameters<typeof suite.boot>[0],
    retention: string | number | null,
  ): Promise<TestApp> {
    const app = await suite.boot(classes, { worker: CLAIMS_NOTHING, retention: retention as '1h' | null });
    await sweep(app);
    return app;
  }

  test('SWEEP-14 runs that ended longer than retention ago are deleted with attempts, members, events and signals; nothing else is', async () => {
    const { workflows, close } = await suite.boot([Scripted, Signalled, Fans, Task, Stranger]);
    const finish = async (run: WorkflowHandle, status: 'finished' | 'cancelled' = 'finished') => {
      await until(run, status);
      return run;
    };
    const start = () => workflows.start(Scripted, script({}));
    const finished = await finish(await start());
    const cancelled = await finish(
      await workflows.start(Scripted, script({ two: (ctx) => ctx.cancel() })),
      'cancelled',
    );
    const signalled = await workflows.start(Signalled, signalScript());
    await signalled.signal('paid');
    await signalled.signal('unheard');
    await finish(signalled);
    const fanned = await finish(await workflows.start(Fans, fanScript({ size: 3 })));
    const younger = await finish(await start());
    const stranger = await finish(await workflows.start(Stranger));
    const rerun = await finish(await finished.rerun());
    // Ongoing, in each status.
    const paused = await workflows.start(Scripted, script({ one: (ctx: StepContext) => ctx.pause() }));
    const waits = await workflows.start(Signalled, signalScript());
    const later = (ctx: StepContext, batch: FanOutBatch) =>
      batch.add(Task, { script: ctx.args.script, n: 0 }, { wait: '1h' });
    const batch = await workflows.start(Fans, fanScript({ fan: later }));
    await until(paused, 'paused');
    for (const run of [waits, batch]) await until(run, 'waiting');
    // Cancelled, while its member is yet to run.
    const atWork = await workflows.start(Fans, fanScript({ fan: later }));
    await until(atWork, 'waiting');
    await atWork.cancel();
    await close();
    const starter = await suite.boot([Scripted], { worker: false });
    const ready = await starter.workflows.start(Scripted, script({}));
    const all = [finished, cancelled, signalled, fanned, younger, stranger, rerun, paused, waits, batch, atWork, ready];
    const old = all.filter((run) => run !== younger);
    await sql(
      `update workflows set created_at = created_at - interval '90 days', updated_at = updated_at - interval '90 days'`,
    );
    await sql(
      `update workflows set ended_at = statement_timestamp() - interval '30 days 1 minute' where ended_at is not null and id = any($1::uuid[])`,
      [old.map(({ id }) => id)],
    );
    await endedAgo('29 days 23 hours', younger);

    await sweepAnew([Scripted, Signalled, Fans, Task], null);
    expect(await left(all)).toEqual(all.map(() => true));
    const { workflows: now } = await sweepAnew([Scripted, Signalled, Fans, Task], '30d');
    const gone = [finished, cancelled, signalled, fanned, rerun];
    expect(await left(all)).toEqual(all.map((run) => !gone.includes(run)));
    expect(await membersOf(sql, atWork)).toEqual(['fan 1 [0] scheduled']);

    // Once its member has ended, it goes too.
    await sql(
      `update workflow_steps set status = 'completed', finished_at = statement_timestamp() where workflow_id = $1 and member_index = 0`,
      [atWork.id],
    );
    await sweepAnew([Scripted, Signalled, Fans, Task], '30d');
    expect(await left([atWork])).toEqual([false]);
    for (const { id } of [paused, waits, batch, ready]) await (await now.find(id)).cancel();
  });

  test('SWEEP-14 by default they are kept for thirty days', async () => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const [over, under] = [await workflows.start(Scripted, script({})), await workflows.start(Scripted, script({}))];
    for (const run of [over, under]) await run.cancel();
    await endedAgo('30 days 1 minute', over);
    await endedAgo('29 days 23 hours 59 minutes', under);
    await sweep(await suite.boot([Scripted], { worker: CLAIMS_NOTHING }));
    expect(await left([over, under])).toEqual([false, true]);
  });

  test('SWEEP-14 more than one page goes in one sweep; what somebody holds stays for the next', async () => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const runs = await workflows.startMany(
      Scripted,
      Array.from({ length: 130 }, () => script({})),
    );
    await sql(
      `with rows as (
         update workflow_steps set status = 'cancelled', available_at = null, finished_at = statement_timestamp() where workflow_id = any($1::uuid[])
       ), runs as (
         update workflows set status = 'cancelled', ended_at = statement_timestamp() - interval '2 hours' where id = any($1::uuid[])
       )
       insert into workflow_events (workflow_id, name, actor) select unnest($1::uuid[]), 'cancelled', 'app'`,
      [runs.map(({ id }) => id)],
    );
    const held = runs.slice(40, 43);
    const lock = await holdRuns(
      suite,
      held.map(({ id }) => id),
    );
    await sweepAnew([Scripted], '1h');
    expect((await left(runs)).filter(Boolean)).toHaveLength(3);
    expect(await left(held)).toEqual([true, true, true]);
    await lock.release();
    await sweepAnew([Scripted], '1h');
    expect(await left(held)).toEqual([false, false, false]);
  });

  test('SWEEP-14 AMB-58 it happens at most hourly, or as often as retention when that is shorter', async () => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const ended = async () => {
      const run = await workflows.start(Scripted, script({}));
      await run.cancel();
      await endedAgo('2 days', run);
      return run;
    };
    const first = await ended();
    const hourly = await sweepAnew([Scripted], '1d');
    expect(await left([first])).toEqual([false]);
    const second = await ended();
    await sweep(hourly);
    expect(await left([second])).toEqual([true]);
    const often = await suite.boot([Scripted], { worker: CLAIMS_NOTHING, retention: 1 });
    await sweep(often);
    expect(await left([second])).toEqual([false]);
    const third = await ended();
    await suite.eventually(async () => {
      await sweep(often);
      return !(await left([third]))[0];
    }, 'the third is deleted too, by the same process');
  });

  test('SWEEP-15 a run that the database does not let go keeps no other from being deleted', async () => {
    const log = captureLog();
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const runs = await workflows.startMany(
      Scripted,
      Array.from({ length: 4 }, () => script({})),
    );
    for (const run of runs) await run.cancel();
    for (const [at, run] of runs.entries()) await endedAgo(`${10 - at} hours`, run);
    // An application's own table that refers to its runs.
    await sql('create table orders (workflow_id uuid references workflows (id))');
    await sql('insert into orders values ($1)', [runs[1].id]);
    await sweepAnew([Scripted], '1h');
    const there = await left(runs);
    await sql('drop table orders');
    expect(there).toEqual([false, true, false, false]);
    expect(log.saying(new RegExp(runs[1].id))).toHaveLength(1);
  });
});
