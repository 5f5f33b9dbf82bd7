import { CancelIf, Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { performances } from './support/performing';
import { attemptsOf, newestRow } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

const boom = () => {
  throw new Error('boom');
};

/** Its second step is an hour away: after the first, the run is seen as ready. */
@Workflow()
class Apart extends WorkflowOf<null, { skips: boolean }> {
  @Step()
  async begin(ctx: Ctx<this>) {
    if (ctx.args.skips) ctx.skip();
    ctx.output({ begun: true });
  }

  @Step({ wait: '1 hour' })
  async later() {}
}

@Workflow()
class Guarded extends WorkflowOf {
  @CancelIf()
  never() {
    return false;
  }

  @Step({ skipIf: () => false })
  async only() {}
}

@Workflow()
class Unwanted extends WorkflowOf {
  @CancelIf()
  always() {
    return true;
  }

  @Step()
  async only() {}
}

@Workflow({ onException: [{ action: 'cancel' }] })
class CancelsOnError extends WorkflowOf {
  @Step()
  async only() {
    boom();
  }

  @Step()
  async never() {}
}

const PROVIDERS = [Scripted, Apart, Guarded, Unwanted, CancelsOnError];

describe("the worker's moves", () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const { runAnother, performing, untilEnded } = performances(suite);
  const boot = () => suite.boot(PROVIDERS);

  describe('claim', () => {
    test.each([Scripted, Guarded])('OPS-20 a due step of a ready run is claimed: %p', async (workflow) => {
      const app = await boot();
      const one = held();
      const run =
        workflow === Scripted
          ? await app.workflows.start(Scripted, script({ one: one.body }))
          : await app.workflows.start(Guarded);
      if (workflow === Guarded) return void (await until(run, 'finished'));
      await one.reached;
      expect((await run.reload()).status).toBe('performing');
      expect(await newestRow(sql, run)).toMatchObject({ status: 'in_progress', claim_no: 1, finished_at: null });
      expect(await trail(run)).toEqual(['started', 'step_scheduled', 'step_started']);
      expect((await run.events()).at(-1)).toMatchObject({ actor: 'system', reason: null });
      one.release();
      await until(run, 'finished');
    });

    test('OPS-20 a step is claimed only once it is due', async () => {
      const app = await boot();
      const run = await app.workflows.start(Apart, { args: { skips: false } });
      await untilEnded(run, 1);
      await runAnother(app);
      expect(await attemptsOf(sql, run)).toEqual(['begin 1 completed', 'later 1 scheduled']);
      await sql(
        `update workflow_steps set scheduled_at = statement_timestamp() + interval '100 milliseconds',
           available_at = statement_timestamp() + interval '100 milliseconds'
         where workflow_id = $1 and status = 'scheduled'`,
        [run.id],
      );
      await until(run, 'finished');
      const row = await newestRow(sql, run);
      expect(row.started_at.getTime()).toBeGreaterThanOrEqual(row.scheduled_at.getTime());
    });

    test.each(['performing', 'waiting', 'paused', 'finished', 'cancelled'])(
      'OPS-20 a due row is left alone while its run is %s',
      async (status) => {
        const idle = await suite.boot(PROVIDERS, { worker: false });
        const runs = [await idle.workflows.start(Scripted, script({})), await idle.workflows.start(Guarded)];
        const ids = runs.map(({ id }) => id);
        // No such state is ever written; the claim must not trust the row alone all the same.
        await sql(
          `update workflows set status = $2, paused_at = case when $2 = 'paused' then now() end,
             ended_at = case when $2 in ('finished', 'cancelled') then now() end where id = any($1::uuid[])`,
          [ids, status],
        );
        const before = await Promise.all(runs.map((run) => newestRow(sql, run)));
        await runAnother(await boot());
        expect(await Promise.all(runs.map((run) => newestRow(sql, run)))).toEqual(before);
        for (const run of runs) expect(await trail(run)).toEqual(['started', 'step_scheduled']);
        await sql(
          `update workflows set status = 'ready', paused_at = null, ended_at = null where id = any($1::uuid[])`,
          [ids],
        );
        for (const run of runs) await until(run, 'finished');
      },
    );
  });

  describe('the end of an attempt', () => {
    test.each(['completed', 'skipped'])('OPS-21 advance: a %s step is followed by the next', async (status) => {
      const { workflows } = await boot();
      const run = await workflows.start(Apart, { args: { skips: status === 'skipped' } });
      await untilEnded(run, 1);
      expect(await run.reload()).toMatchObject({ status: 'ready', currentStep: 'later' });
      expect(await attemptsOf(sql, run)).toEqual([`begin 1 ${status}`, 'later 1 scheduled']);
      expect((await run.steps())[0]).toMatchObject({
        outcome: status,
        output: status === 'completed' ? { begun: true } : null,
      });
      expect((await trail(run)).slice(3)).toEqual([`step_${status}`, 'step_scheduled']);
    });

    test.each<[string, string, (ctx: StepContext) => unknown]>([
      ['completed', 'completed', () => undefined],
      ['skipped', 'skipped', (ctx) => ctx.skip()],
      ['ended by ctx.finish()', 'completed', (ctx) => ctx.finish()],
    ])('OPS-22 finish: a last step that is %s finishes the run', async (_how, status, ending) => {
      const { workflows } = await boot();
      const run = await workflows.start(Scripted, script({ three: ending }));
      await until(run, 'finished');
      expect((await attemptsOf(sql, run)).at(-1)).toBe(`three 1 ${status}`);
      expect((await trail(run)).slice(-2)).toEqual([`step_${status}`, 'finished']);
      const [{ ended_at }] = await sql('select ended_at from workflows where id = $1', [run.id]);
      expect(ended_at).toBeInstanceOf(Date);
    });

    test('OPS-22 finish: ctx.finish() finishes the run in any step', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(Scripted, script({ two: (ctx) => ctx.finish() }));
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 completed', 'two 1 completed']);
    });

    test('OPS-23 reattempt: the row failed and the next attempt is scheduled', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(
        Scripted,
        script({ one: (ctx) => void (ctx.attempt === 1 && ctx.reattempt({ wait: '1 hour' })) }),
      );
      await untilEnded(run, 1);
      expect(await run.reload()).toMatchObject({ status: 'ready', currentStep: 'one' });
      expect(await attemptsOf(sql, run)).toEqual(['one 1 failed', 'one 2 scheduled']);
      expect((await run.steps())[0]).toMatchObject({ outcome: 'reattempted', error: null });
      expect((await trail(run)).slice(3)).toEqual(['step_reattempted', 'step_scheduled']);
      await run.runNow();
      await until(run, 'finished');
    });

    test.each<[string, string, (ctx: StepContext) => unknown]>([
      ['ctx.pause()', 'completed', (ctx) => ctx.pause()],
      ['an exception', 'failed', boom],
    ])('OPS-24 step_pause: %s pauses the run on a %s row', async (_how, status, ending) => {
      const { workflows } = await boot();
      const run = await workflows.start(Scripted, script({ one: ending }));
      await until(run, 'paused');
      expect(await attemptsOf(sql, run)).toEqual([`one 1 ${status}`]);
      expect((await run.steps())[0]).toMatchObject({ outcome: 'paused' });
      expect((await run.events()).slice(-2)).toEqual([
        expect.objectContaining({ name: `step_${status}`, actor: 'system' }),
        expect.objectContaining({ name: 'paused', actor: 'system' }),
      ]);
    });

    test('OPS-25 step_cancel: ctx.cancel(), a cancel guard and a policy cancel the run', async () => {
      const { workflows } = await boot();
      const byBody = await workflows.start(Scripted, script({ one: (ctx) => ctx.cancel() }));
      const byGuard = await workflows.start(Unwanted);
      const byPolicy = await workflows.start(CancelsOnError);
      for (const run of [byBody, byGuard, byPolicy]) await until(run, 'cancelled');
      expect(await attemptsOf(sql, byBody)).toEqual(['one 1 cancelled']);
      expect(await attemptsOf(sql, byGuard)).toEqual(['only 1 cancelled']);
      expect(await attemptsOf(sql, byPolicy)).toEqual(['only 1 failed']);
      expect((await trail(byBody)).slice(2)).toEqual(['step_started', 'cancelled']);
      expect((await trail(byGuard)).slice(2)).toEqual(['cancelled']);
      expect((await trail(byPolicy)).slice(2)).toEqual(['step_started', 'step_failed', 'cancelled']);
    });

    test('OPS-21 an outcome waits for whoever holds the run, and is recorded then', async () => {
      const app = await boot();
      const { run, release } = await performing(app);
      const lock = await holdRuns(suite, [run.id]);
      release();
      await untilWaitingForLocks(suite, 1);
      expect(await attemptsOf(sql, run)).toEqual(['one 1 in_progress']);
      await lock.release();
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 completed', 'two 1 completed', 'three 1 completed']);
    });
  });
});
