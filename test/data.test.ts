import { Logger } from '@nestjs/common';
import {
  CancelIf,
  OnException,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type EventRecord,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { EVENT_NAMES } from '../libs/workflow/src/model/states';
import { attemptsOf } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';

@Workflow()
class TwoSteps extends WorkflowOf {
  @Step()
  async one(ctx: Ctx<this>) {
    ctx.output({ from: 'one' });
  }

  @Step()
  async two() {}
}

@Workflow({ onException: [{ matching: ['Passing'], action: 'reattempt', maxReattempts: 1, terminalAction: 'skip' }] })
class Eventful extends WorkflowOf<null, { cancelled?: boolean }> {
  @CancelIf()
  unwanted(ctx: Ctx<this>) {
    return ctx.args.cancelled;
  }

  @Step({ skipIf: () => true })
  async skipped() {}

  @Step()
  async failing() {
    throw Object.assign(new Error('passing'), { name: 'Passing' });
  }

  @Step()
  async handled() {
    throw new TypeError('handled');
  }

  @OnException(TypeError)
  handle(_error: TypeError, ctx: StepContext) {
    ctx.finish();
  }
}

const PROVIDERS = [TwoSteps, Scripted, Eventful];

describe('tables, indexes and audit events', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = (options = {}) => suite.boot(PROVIDERS, options);

  /** One of each: what verbs, bodies, guards, policies and late outcomes write. */
  async function liveEventfully({ workflows }: TestApp): Promise<WorkflowHandle[]> {
    const paused = await workflows.start(
      Scripted,
      script({
        one: (ctx) => void (ctx.attempt === 1 && ctx.reattempt()),
        two: (ctx) => void (ctx.attempt === 1 && ctx.pause()),
      }),
    );
    const failed = await workflows.start(Scripted, script({ one: () => Promise.reject(new Error('no')) }));
    const guarded = await workflows.start(Eventful, { args: {} });
    const unwanted = await workflows.start(Eventful, { args: { cancelled: true } });
    const one = held();
    const late = await workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    await late.pause();
    await late.resume();
    await late.cancel();
    one.release();
    await suite.eventually(async () => (await trail(late)).includes('late_completion_ignored'), 'it is late');
    await until(paused, 'paused');
    await paused.resumeAt('one');
    await until(paused, 'finished');
    await until(failed, 'paused');
    await failed.cancel();
    await until(guarded, 'finished');
    await until(unwanted, 'cancelled');
    const again = await paused.rerun();
    await until(again, 'paused');
    await again.resume();
    await until(again, 'finished');
    return [paused, failed, guarded, unwanted, late, again];
  }

  describe('attempts', () => {
    test('DATA-03 a row tells when it ran, where, by which revision, and what came of it', async () => {
      const { workflows } = await boot({ appRevision: 'v7' });
      const run = await workflows.start(
        Scripted,
        script({ one: (ctx) => ctx.output({ paid: 12 }), two: () => Promise.reject(new RangeError('too far')) }),
      );
      await until(run, 'paused');
      const [one, two] = await run.steps();
      const times = ({ scheduledAt, startedAt, finishedAt }: typeof one & {}) =>
        [scheduledAt, startedAt!, finishedAt!].map((at) => at.getTime());
      for (const step of [one, two]) {
        expect(times(step)).toEqual(times(step).toSorted((a, b) => a - b));
        expect(step).toMatchObject({
          worker: expect.stringMatching(`:${process.pid}$`),
          appRevision: 'v7',
          attempt: 1,
        });
      }
      expect(one).toMatchObject({ status: 'completed', output: { paid: 12 }, error: null });
      expect(two).toMatchObject({
        status: 'failed',
        output: null,
        error: {
          class: 'RangeError',
          message: 'too far',
          backtrace: expect.stringContaining('data.test.ts'),
          causes: [],
        },
      });
      await run.cancel();
    });

    test('DATA-03 attempts of a step count 1, 2, 3 over reattempts, resumes and resumeAt', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(
        Scripted,
        script({
          one: async (ctx) => {
            if (ctx.attempt === 1) ctx.reattempt();
            if (ctx.attempt === 2) throw new Error('resume me');
          },
          two: (ctx) => void (ctx.attempt === 1 && ctx.pause()),
        }),
      );
      await until(run, 'paused');
      await run.resume();
      await suite.eventually(
        async () => (await attemptsOf(sql, run)).includes('two 1 completed'),
        'the second step ran',
      );
      await until(run, 'paused');
      await run.resumeAt('one');
      await until(run, 'finished');
      expect(await attemptsOf(sql, run)).toEqual([
        'one 1 failed',
        'one 2 failed',
        'one 3 completed',
        'two 1 completed',
        'one 4 completed',
        'two 2 completed',
        'three 1 completed',
      ]);
    });
  });

  describe('the audit trail', () => {
    test('DATA-04 nothing ever updates or deletes an event', async () => {
      await sql(`create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'events are append-only (%)', tg_op; end $$`);
      await sql(
        'create trigger append_only before update or delete or truncate on workflow_events execute function refuse()',
      );
      try {
        const app = await boot();
        for (const run of await liveEventfully(app))
          expect(['finished', 'cancelled']).toContain(await until(run, 'finished', 'cancelled'));
        await app.close();
      } finally {
        await sql('drop trigger append_only on workflow_events');
      }
    });

    test('DATA-08 events are read in the order in which they were written, under names of the list', async () => {
      const app = await boot();
      const names = new Set<string>();
      for (const run of await liveEventfully(app)) {
        const events = await run.events();
        const ids = events.map(({ id }) => BigInt(id));
        expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
        const times = events.map(({ createdAt }) => createdAt.getTime());
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        for (const { name } of events) names.add(name);
      }
      for (const name of names) expect(EVENT_NAMES).toContain(name);
      expect([...names].toSorted()).toEqual([
        'cancelled',
        'finished',
        'late_completion_ignored',
        'paused',
        'rerun',
        'resumed',
        'started',
        'step_completed',
        'step_failed',
        'step_reattempted',
        'step_scheduled',
        'step_skipped',
        'step_started',
      ]);
    });

    test('DATA-10 the worker, bodies, guards and policies act as system; a person as named; code as app', async () => {
      const { workflows } = await boot();
      const by = { actor: 'alice', reason: 'new customer' };
      const told = (events: EventRecord[]) => events.map(({ name, actor }) => `${name} ${actor}`);

      const guarded = await workflows.start(Eventful, { args: {}, ...by });
      const unwanted = await workflows.start(Eventful, { args: { cancelled: true } });
      const bodies = await workflows.start(Scripted, script({ one: (ctx) => ctx.pause(), two: (ctx) => ctx.cancel() }));
      await until(guarded, 'finished');
      await until(unwanted, 'cancelled');
      await until(bodies, 'paused');
      await bodies.resume({ actor: 'bob' });
      await until(bodies, 'cancelled');

      const events = await guarded.events();
      expect(told(events).slice(0, 2)).toEqual(['started alice', 'step_scheduled alice']);
      expect(events[0].reason).toBe('new customer');
      const others = events.slice(2);
      expect(others.map(({ actor, reason }) => [actor, reason])).toEqual(others.map(() => ['system', null]));
      expect(others.map(({ name }) => name)).toEqual([
        'step_skipped',
        'step_scheduled',
        'step_started',
        'step_reattempted',
        'step_scheduled',
        'step_started',
        'step_skipped',
        'step_scheduled',
        'step_started',
        'step_completed',
        'finished',
      ]);
      expect(told(await unwanted.events())).toEqual(['started app', 'step_scheduled app', 'cancelled system']);
      expect(told(await bodies.events())).toEqual([
        'started app',
        'step_scheduled app',
        'step_started system',
        'step_completed system',
        'paused system',
        'resumed bob',
        'step_scheduled bob',
        'step_started system',
        'cancelled system',
      ]);
    });

    test('DATA-11 a plain two-step run leaves exactly its eight events', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(TwoSteps);
      await until(run, 'finished');
      expect(await trail(run)).toEqual([
        'started',
        'step_scheduled',
        'step_started',
        'step_completed',
        'step_scheduled',
        'step_started',
        'step_completed',
        'finished',
      ]);
      const [one, two] = await run.steps();
      const about = (await run.events()).map(({ stepId }) => stepId);
      expect(about).toEqual([null, one.id, one.id, one.id, two.id, two.id, two.id, null]);
    });
  });

  describe('ids', () => {
    test('DATA-13 are strings, exact beyond 2^53', async () => {
      const tables = ['workflow_steps', 'workflow_events', 'workflow_signals'];
      // An odd number that a double does not have.
      const first = 2n ** 53n + 1n;
      for (const table of tables) await sql(`alter table ${table} alter column id restart with ${first}`);
      const { workflows } = await boot();
      const run = await workflows.start(TwoSteps);
      await until(run, 'finished');
      await sql(
        `insert into workflow_signals (workflow_id, name, payload, status, claimed_by_step_id)
         values ($1, 'paid', '{}', 'claimed', $2)`,
        [run.id, String(first)],
      );
      const [steps, events, signals] = [await run.steps(), await run.events(), await run.signals()];
      expect(steps.map(({ id }) => id)).toEqual([String(first), String(first + 1n)]);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => String(first + BigInt(index))));
      expect(events[2].stepId).toBe(String(first));
      expect(signals).toEqual([expect.objectContaining({ id: String(first), claimedByStepId: String(first) })]);
      expect(await attemptsOf(sql, run)).toEqual(['one 1 completed', 'two 1 completed']);
    });
  });

  describe('a run that is deleted by hand while a step of it runs', () => {
    const ENDINGS: [string, (ctx: StepContext) => unknown][] = [
      ['returns', (ctx) => ctx.output({ too: 'late' })],
      ['throws', () => Promise.reject(new Error('boom'))],
      ['pauses', (ctx) => ctx.pause()],
      ['reattempts', (ctx) => ctx.reattempt()],
    ];

    test.each(ENDINGS)(
      'DATA-14 its body %s: the outcome is discarded, without error and without event',
      async (_how, ending) => {
        const app = await boot();
        const one = held(ending);
        const run = await app.workflows.start(Scripted, script({ one: one.body }));
        const beside = held();
        const other = await app.workflows.start(Scripted, script({ one: beside.body }));
        await Promise.all([one.reached, beside.reached]);
        await sql('delete from workflow_events where workflow_id = $1', [run.id]);
        await sql('delete from workflows where id = $1', [run.id]);
        const logged = jest.spyOn(Logger.prototype, 'error');
        one.release();
        beside.release();
        await until(other, 'finished');
        await app.close();
        expect(logged).not.toHaveBeenCalled();
        logged.mockRestore();
        for (const table of ['workflow_steps', 'workflow_events', 'workflow_signals']) {
          expect(await sql(`select * from ${table} where workflow_id = $1`, [run.id])).toEqual([]);
        }
        expect(app.reported).toEqual([]);
      },
    );
  });
});
