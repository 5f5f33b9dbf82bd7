import { Logger } from '@nestjs/common';
import {
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type EventName,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { allRows, attemptsOf } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

@Workflow()
class Guarded extends WorkflowOf<null, { skips: boolean }> {
  @Step({ skipIf: (ctx) => ctx.args.skips })
  async only() {}
}

@Workflow()
class Transactional extends WorkflowOf {
  @Step({ transactional: true })
  async only(ctx: Ctx<this>) {
    await ctx.manager.query('insert into written values ($1)', [ctx.workflowId]);
  }
}

const TOMORROW = new Date(Date.now() + 86_400_000);

describe('a change and its events', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = (options = {}) => suite.boot([Scripted, Guarded, Transactional], options);
  const bootIdle = () => boot({ worker: false });

  beforeAll(async () => {
    await sql('create table forbidden (name text)');
    await sql('create table written (id uuid)');
    // A sequence keeps what a rolled-back transaction drew from it: so a test learns that its event was tried.
    await sql('create sequence refusals');
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if exists (select from forbidden where name = new.name) then
        perform nextval('refusals');
        raise exception 'no % today', new.name;
      end if;
      return new;
    end $$`);
    await sql('create trigger refuse before insert on workflow_events for each row execute function refuse()');
  });

  async function forbid(...names: EventName[]): Promise<void> {
    await sql('select setval($1, 1, false)', ['refusals']);
    for (const name of names) await sql('insert into forbidden values ($1)', [name]);
  }

  const allow = () => sql('delete from forbidden');

  const untilRefused = () =>
    suite.eventually(
      async () => (await sql<{ is_called: boolean }>('select is_called from refusals'))[0].is_called,
      'the event was refused',
    );

  // What could not be stored is logged, each time: here that is no news.
  beforeEach(() => jest.spyOn(Logger.prototype, 'error').mockImplementation());

  afterEach(async () => {
    jest.restoreAllMocks();
    await allow();
  });

  describe('from outside', () => {
    const VERBS: {
      verb: string;
      event: EventName;
      call: (run: WorkflowHandle) => Promise<unknown>;
      prepare?: (run: WorkflowHandle) => unknown;
    }[] = [
      { verb: 'pause', event: 'paused', call: (run) => run.pause() },
      { verb: 'resume', event: 'resumed', call: (run) => run.resume(), prepare: (run) => run.pause() },
      { verb: 'resumeAt', event: 'resumed', call: (run) => run.resumeAt('two'), prepare: (run) => run.pause() },
      { verb: 'resumeAt', event: 'step_scheduled', call: (run) => run.resumeAt('two'), prepare: (run) => run.pause() },
      { verb: 'cancel', event: 'cancelled', call: (run) => run.cancel() },
      { verb: 'runNow', event: 'run_now', call: (run) => run.runNow() },
      { verb: 'reschedule', event: 'rescheduled', call: (run) => run.reschedule(TOMORROW) },
      { verb: 'rerun', event: 'rerun', call: (run) => run.rerun(), prepare: (run) => run.cancel() },
      { verb: 'rerun', event: 'started', call: (run) => run.rerun(), prepare: (run) => run.cancel() },
    ];

    test.each(VERBS)('DATA-07 $verb is undone when $event cannot be written', async ({ event, call, prepare }) => {
      const { workflows } = await bootIdle();
      const run = await workflows.start(Scripted, script({}));
      await prepare?.(run);
      const { status } = run;
      const before = await allRows(sql);
      await forbid(event);
      await expect(call(run)).rejects.toThrow(`no ${event} today`);
      expect(await allRows(sql)).toEqual(before);
      expect(run.status).toBe(status);
      await allow();
      await call(run);
    });

    test.each<EventName>(['started', 'step_scheduled'])(
      'DATA-07 start and startMany are undone when their event %s cannot be written',
      async (event) => {
        const { workflows } = await bootIdle();
        const before = await allRows(sql);
        await forbid(event);
        await expect(workflows.start(Scripted, script({}))).rejects.toThrow(`no ${event} today`);
        await expect(workflows.startMany(Scripted, [script({}), script({})])).rejects.toThrow(`no ${event} today`);
        expect(await allRows(sql)).toEqual(before);
      },
    );
  });

  describe("by the worker's", () => {
    test.each([Scripted, Guarded])(
      'DATA-07 claim is undone when step_started cannot be written, and made once it can: %p',
      async (workflow) => {
        const idle = await bootIdle();
        const run =
          workflow === Scripted
            ? await idle.workflows.start(Scripted, script({}))
            : await idle.workflows.start(Guarded, { args: { skips: false } });
        const before = await allRows(sql);
        await forbid('step_started');
        await boot();
        await untilRefused();
        expect(await allRows(sql)).toEqual(before);
        await allow();
        await until(run, 'finished');
        expect((await run.steps())[0]).toMatchObject({ attempt: 1, status: 'completed' });
      },
    );

    test('DATA-07 skip by a guard is undone when step_skipped cannot be written', async () => {
      const idle = await bootIdle();
      const run = await idle.workflows.start(Guarded, { args: { skips: true } });
      const before = await allRows(sql);
      await forbid('step_skipped');
      await boot();
      await untilRefused();
      expect(await allRows(sql)).toEqual(before);
      await allow();
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual(['only 1 skipped']);
    });

    const ENDINGS: [string, EventName, (ctx: StepContext) => unknown][] = [
      ['completion', 'step_completed', () => undefined],
      ['completion, by the next step,', 'step_scheduled', () => undefined],
      ['end', 'finished', (ctx) => ctx.finish()],
      ['skip', 'step_skipped', (ctx) => ctx.skip()],
      ['reattempt', 'step_reattempted', (ctx) => ctx.reattempt()],
      ['failure', 'step_failed', () => Promise.reject(new Error('boom'))],
      ['failure, by the pause,', 'paused', () => Promise.reject(new Error('boom'))],
      ['pause', 'paused', (ctx) => ctx.pause()],
      ['cancel', 'cancelled', (ctx) => ctx.cancel()],
    ];

    test.each(ENDINGS)(
      'DATA-07 the settlement of %s is undone when %s cannot be written',
      async (_what, event, ending) => {
        const app = await boot();
        const one = held(ending);
        const run = await app.workflows.start(Scripted, script({ one: one.body }));
        await one.reached;
        const before = await allRows(sql);
        await forbid(event);
        one.release();
        await untilRefused();
        await app.close();
        expect(await allRows(sql)).toEqual(before);
        await allow();
        const idle = await bootIdle();
        await (await idle.workflows.find(run.id)).cancel();
      },
    );

    test('DATA-07 settlement of a transactional step is undone with what its body wrote', async () => {
      const idle = await bootIdle();
      const run = await idle.workflows.start(Transactional);
      await forbid('step_completed');
      const app = await boot();
      await untilRefused();
      // Its own failure now: the body's error would be, too.
      await until(run, 'paused');
      await app.close();
      expect(await sql('select * from written')).toEqual([]);
      expect(await attemptsOf(sql, run)).toEqual(['only 1 failed']);
      expect(await trail(run)).toEqual(['started', 'step_scheduled', 'step_started', 'step_failed', 'paused']);
    });

    test('DATA-07 a run whose event is refused takes none of those with it that end at the same time', async () => {
      const app = await boot();
      const bodies = Array.from({ length: 5 }, () => held());
      const runs = await app.workflows.startMany(
        Scripted,
        bodies.map(({ body }) => script({ one: body })),
      );
      await Promise.all(bodies.map(({ reached }) => reached));
      const [refused, ...others] = runs;
      await sql(`create function refuse_one() returns trigger language plpgsql as $$ begin
        if new.name = 'step_completed' and new.workflow_id = '${refused.id}' then raise exception 'not this one'; end if;
        return new;
      end $$`);
      await sql(
        'create trigger refuse_one before insert on workflow_events for each row execute function refuse_one()',
      );
      try {
        for (const { release } of bodies) release();
        for (const run of others) await until(run, 'finished');
        expect(await attemptsOf(sql, refused)).toEqual(['one 1 in_progress']);
        await refused.cancel();
      } finally {
        await sql('drop trigger refuse_one on workflow_events');
      }
    });
  });
});
