import { Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { performances } from './support/performing';
import { allRows, attemptsOf, newestRow } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

const boom = () => {
  throw new Error('boom');
};

@Workflow({ onException: [{ action: 'cancel' }] })
class CancelsOnError extends WorkflowOf {
  static body: (ctx: StepContext) => Promise<void>;

  @Step()
  async only(ctx: Ctx<this>) {
    await CancelsOnError.body(ctx);
  }

  @Step()
  async never() {}
}

@Workflow()
class Transactional extends WorkflowOf {
  static body: (ctx: StepContext) => Promise<void>;

  @Step({ transactional: true })
  async only(ctx: Ctx<this>) {
    await ctx.manager.query('insert into written values ($1)', [ctx.workflowId]);
    await Transactional.body(ctx);
  }
}

describe('verbs against a worker', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const { runAnother, performing, untilEnded } = performances(suite);
  const boot = () => suite.boot([Scripted, CancelsOnError, Transactional]);

  describe('an outside pause while a body is at work', () => {
    test('OPS-01 pause of a performing run: the body goes on, and its outcome is recorded', async () => {
      const app = await boot();
      const { run, context, release } = await performing(app, (ctx) => ctx.output({ done: true }));
      await run.pause();
      expect(run.status).toBe('paused');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 in_progress']);
      expect(context.abortSignal.aborted).toBe(false);
      release();
      await untilEnded(run, 1);
      expect(await until(run, 'paused')).toBe('paused');
      expect((await run.steps())[0]).toMatchObject({ status: 'completed', output: { done: true } });
    });

    test('OPS-07 OPS-26 resume while the body is still at work: its outcome counts as if never paused', async () => {
      const app = await boot();
      const { run, release } = await performing(app, (ctx) => ctx.output({ done: true }));
      const before = await newestRow(sql, run);
      await run.pause();
      await run.resume();
      expect(run).toMatchObject({ status: 'performing', availableActions: ['pause', 'cancel', 'signal'] });
      expect(await until(run, 'performing')).toBe('performing');
      expect(await newestRow(sql, run)).toEqual(before);
      expect(await trail(run)).toEqual(['started', 'step_scheduled', 'step_started', 'paused', 'resumed']);
      release();
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 completed', 'two 1 completed', 'three 1 completed']);
      expect((await run.steps())[0].output).toEqual({ done: true });
    });

    test.each<[string, string, string, (ctx: StepContext) => unknown]>([
      ['completed', 'step_completed', 'two 1', () => undefined],
      ['skipped', 'step_skipped', 'two 1', (ctx) => ctx.skip()],
      ['reattempted', 'step_reattempted', 'one 2', (ctx) => void (ctx.attempt === 1 && ctx.reattempt())],
    ])(
      'OPS-27 hold: a %s outcome schedules the next row, which waits for resume',
      async (outcome, event, next, ending) => {
        const app = await boot();
        const { run, release } = await performing(app, ending);
        await run.pause({ actor: 'alice' });
        release();
        await untilEnded(run, 1);
        await runAnother(app);

        expect(await run.reload()).toMatchObject({ status: 'paused', currentStep: next.slice(0, -2) });
        expect((await attemptsOf(sql, run)).at(-1)).toBe(`${next} scheduled`);
        expect((await run.steps())[0].outcome).toBe(outcome);
        expect((await newestRow(sql, run)).available_at).toBeNull();
        expect((await trail(run)).slice(3)).toEqual(['paused', event, 'step_scheduled']);

        await run.resume();
        expect(run.status).toBe('ready');
        await until(run, 'finished');
        expect((await trail(run)).slice(6, 8)).toEqual(['resumed', 'step_started']);
      },
    );

    test('OPS-27 hold: ctx.pause() after an outside pause is recorded without a second pause', async () => {
      const app = await boot();
      const { run, release } = await performing(app, (ctx) => ctx.pause());
      await run.pause();
      release();
      await untilEnded(run, 1);
      expect(await until(run, 'paused')).toBe('paused');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 completed']);
      expect((await trail(run)).slice(3)).toEqual(['paused', 'step_completed']);
      await run.resume();
      await until(run, 'finished');
    });

    test('OPS-28 hold of a failure: the run stays paused with no next row; resume tries again', async () => {
      const app = await boot();
      const { run, release } = await performing(app, (ctx) => void (ctx.attempt === 1 && boom()));
      await run.pause();
      release();
      await untilEnded(run, 1);
      expect(await until(run, 'paused')).toBe('paused');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 failed']);
      expect((await run.steps())[0]).toMatchObject({ outcome: 'paused', error: { message: 'boom' } });
      expect((await trail(run)).slice(3)).toEqual(['paused', 'step_failed']);
      await run.resume();
      expect((await attemptsOf(sql, run)).slice(0, 2)).toEqual(['one 1 failed', expect.stringMatching(/^one 2/)]);
      await until(run, 'finished');
    });

    test.each<[string, string, (ctx: StepContext) => unknown]>([
      ['completed', 'completed', () => undefined],
      ['skipped', 'skipped', (ctx) => ctx.skip()],
      ['ended by ctx.finish()', 'completed', (ctx) => ctx.finish()],
    ])('OPS-22 a last step that is %s under an outside pause finishes the run', async (_how, status, ending) => {
      const { workflows } = await boot();
      const three = held(ending);
      const run = await workflows.start(Scripted, script({ three: three.body }));
      await three.reached;
      await run.pause();
      three.release();
      await until(run, 'finished');
      expect((await attemptsOf(sql, run)).at(-1)).toBe(`three 1 ${status}`);
      expect((await trail(run)).slice(-3)).toEqual(['paused', `step_${status}`, 'finished']);
      const [row] = await sql('select paused_at, ended_at from workflows where id = $1', [run.id]);
      expect(row).toEqual({ paused_at: null, ended_at: expect.any(Date) });
    });

    test('OPS-25 an outside pause does not save a run from ctx.cancel() or a policy that cancels', async () => {
      const app = await boot();
      const byBody = await performing(app, (ctx) => ctx.cancel());
      const only = held(boom);
      CancelsOnError.body = only.body;
      const byPolicy = await app.workflows.start(CancelsOnError);
      await only.reached;
      await byBody.run.pause();
      await byPolicy.pause();
      byBody.release();
      only.release();
      await until(byBody.run, 'cancelled');
      await until(byPolicy, 'cancelled');
      expect((await trail(byBody.run)).slice(3)).toEqual(['paused', 'cancelled']);
      expect((await trail(byPolicy)).slice(3)).toEqual(['paused', 'step_failed', 'cancelled']);
    });
  });

  describe('a run that has moved on', () => {
    const ENDINGS: [string, (ctx: StepContext) => unknown][] = [
      ['returns', (ctx) => ctx.output({ too: 'late' })],
      ['throws', boom],
      ['skips', (ctx) => ctx.skip()],
      ['reattempts', (ctx) => ctx.reattempt()],
      ['pauses', (ctx) => ctx.pause()],
      ['finishes', (ctx) => ctx.finish()],
      ['cancels', (ctx) => ctx.cancel()],
    ];

    test.each(ENDINGS)('OPS-09 OPS-33 a body that %s after an outside cancel changes nothing', async (_how, ending) => {
      const app = await boot();
      const { run, context, release } = await performing(app, ending);
      await run.cancel();
      expect(run.status).toBe('cancelled');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 cancelled']);
      await suite.eventually(() => context.abortSignal.aborted, 'the body is asked to stop');
      const before = await allRows(sql);

      release();
      await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the outcome came');
      await app.close();
      const { workflow_events: events, ...others } = await allRows(sql);
      const { workflow_events: eventsBefore, ...othersBefore } = before;
      expect(others).toEqual(othersBefore);
      expect(events.slice(eventsBefore.length)).toEqual([
        expect.objectContaining({
          name: 'late_completion_ignored',
          workflow_id: run.id,
          step_id: (await newestRow(sql, run)).id,
          actor: 'system',
        }),
      ]);
      expect(app.reported).toEqual([]);
    });

    test.each<[string, (ctx: StepContext) => unknown]>(ENDINGS.slice(0, 2))(
      'OPS-09 a transactional body that %s after an outside cancel leaves none of its writes',
      async (_how, ending) => {
        await sql('create table if not exists written (id uuid)');
        const app = await boot();
        const only = held(ending);
        Transactional.body = only.body;
        const run = await app.workflows.start(Transactional);
        await only.reached;
        await run.cancel();
        only.release();
        await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the outcome came');
        await app.close();
        expect(await sql('select * from written')).toEqual([]);
        expect(await trail(run)).toEqual([
          'started',
          'step_scheduled',
          'step_started',
          'cancelled',
          'late_completion_ignored',
        ]);
      },
    );

    test('OPS-08 OPS-33 resumeAt beside a body at work cancels its row, and its outcome is ignored', async () => {
      const app = await boot();
      const first = held((ctx) => ctx.output({ too: 'late' }));
      const second = held();
      const run = await app.workflows.start(
        Scripted,
        script({ one: (ctx) => (ctx.attempt === 1 ? first.body(ctx) : second.body(ctx)) }),
      );
      const context = await first.reached;
      await run.pause();
      await run.resumeAt('one');
      await suite.eventually(() => context.abortSignal.aborted, 'the body is asked to stop');
      const again = await second.reached;
      expect(again.abortSignal.aborted).toBe(false);
      expect(await attemptsOf(sql, run)).toEqual(['one 1 cancelled', 'one 2 in_progress']);

      first.release();
      await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the outcome came');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 cancelled', 'one 2 in_progress']);
      expect((await run.steps())[0]).toMatchObject({ outcome: null, output: null });
      second.release();
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual([
        'one 1 cancelled',
        'one 2 completed',
        'two 1 completed',
        'three 1 completed',
      ]);
    });

    test('OPS-08 resumeAt of another step beside a body at work: that body schedules nothing', async () => {
      const app = await boot();
      const { run, release } = await performing(app);
      await run.pause();
      await run.resumeAt('three');
      await until(run, 'finished');
      release();
      await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the outcome came');
      expect(await attemptsOf(sql, run)).toEqual(['one 1 cancelled', 'three 1 completed']);
    });
  });
});
