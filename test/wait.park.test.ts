import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  CancelIf,
  currentStep,
  defineSignal,
  matcher,
  NotInStepError,
  Step,
  Workflow,
  WorkflowDefinitionError,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowHandle,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { newestRow } from './support/rows';
import { workflowSuite } from './support/suite';
import { note, passDeadline, seenBy, timeOuts, waiting } from './support/waits';
import { Ticket, TicketLoader } from './support/ticket';

@Injectable()
class Calendar {
  readonly name = 'the injected calendar';
}

interface Script {
  deadline: (this: Asks, ctx: StepContext) => unknown;
  body?: (ctx: StepContext) => unknown;
  cancel?: boolean;
  skip?: boolean;
}

const scripts = new Map<string, Script>();
const scriptOf = ({ args }: StepContext<any, { key: string }>) => scripts.get(args.key)!;

class Tolerated extends Error {}
class Transient extends Error {}

/** What it answers when it is asked for a deadline is said by each test. */
@Workflow({
  subject: Ticket,
  onException: [
    { matching: Tolerated, action: 'skip' },
    { matching: Transient, action: 'reattempt', maxReattempts: 1 },
  ],
})
class Asks extends WorkflowOf<Ticket, { key: string }> {
  constructor(readonly calendar: Calendar) {
    super();
  }

  @CancelIf()
  cancelled(ctx: Ctx<this>) {
    return scriptOf(ctx).cancel;
  }

  @Step({ waitFor: 'go', waitTimeout: 'deadline', onTimeout: 'run', skipIf: (ctx) => scriptOf(ctx).skip })
  async gate(ctx: Ctx<this>) {
    await note(ctx);
    await scriptOf(ctx).body?.(ctx);
  }

  @Step({
    waitFor: 'on',
    waitTimeout(this: Asks, ctx: StepContext) {
      return this.deadline(ctx as never) as null;
    },
  })
  async second() {}

  deadline(ctx: Ctx<this>) {
    return scriptOf(ctx).deadline.call(this, ctx);
  }
}

let tickets = 0;

function start(workflows: WorkflowService, script: Script) {
  const key = randomUUID();
  scripts.set(key, script);
  return workflows.start(Asks, { subject: new Ticket(`${(tickets += 1)}`), args: { key } });
}

const DAY = 86_400_000;

describe('parking', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = (options: Parameters<typeof suite.boot>[1] = {}) => suite.boot([Calendar, TicketLoader, Asks], options);

  beforeAll(() => sql('create table deadline_notes (note text)'));

  test('WAIT-01 a static waitTimeout counts from the park, not from the claim; without one there is no deadline', async () => {
    let guarded = '';
    const Slow = waiting({
      waitTimeout: '2 days',
      async skipIf(ctx) {
        // The transaction began before this, and the park comes after.
        await ctx.manager.query('select pg_sleep(0.02)');
        [{ now: guarded }] = await ctx.manager.query('select clock_timestamp()::text as now');
        return false;
      },
    });
    const Open = waiting();
    const { workflows } = await suite.boot([Slow, Open]);
    const run = await workflows.start(Slow);
    const open = await workflows.start(Open);
    await until(run, 'waiting');
    await until(open, 'waiting');
    const [row] = await sql(
      `select s.status, s.timeout_at = e.created_at + interval '2 days' as from_park, s.timeout_at > $2::timestamptz + interval '2 days' as late
       from workflow_steps s join workflow_events e on e.step_id = s.id and e.name = 'step_waiting' where s.workflow_id = $1`,
      [run.id, guarded],
    );
    expect(row).toEqual({ status: 'waiting', from_park: true, late: true });
    expect((await newestRow(sql, open)).timeout_at).toBeNull();
    expect(await trail(run)).toEqual(['started', 'step_scheduled', 'step_waiting']);
    const [event] = (await run.events()).slice(-1);
    expect(event).toMatchObject({ actor: 'system', details: { wait_for: 'go' }, stepName: 'gate', attempt: 1 });
  });

  test('WAIT-01 every attempt that parks gets a fresh deadline', async () => {
    const Daily = waiting({ waitTimeout: '1 day' });
    const { workflows } = await suite.boot([Daily]);
    const run = await workflows.start(Daily);
    await until(run, 'waiting');
    await passDeadline(sql, run, '3 days');
    await until(run, 'paused');
    await run.resume();
    await until(run, 'waiting');
    expect(await attempts(run)).toEqual(['gate#1 failed, paused: WaitTimedOutError', 'gate#2 waiting']);
    const [row] = await sql(
      `select s.timeout_at - s.waiting_since = interval '1 day' as fresh, s.waiting_since > statement_timestamp() - interval '1 hour' as now
       from workflow_steps s where s.workflow_id = $1 and s.attempt = 2`,
      [run.id],
    );
    expect(row).toEqual({ fresh: true, now: true });
  });

  test('DEF-10 DEF-13 durations of every kind, and matchers of every kind, make a wait', async () => {
    class Refunds {
      matches({ name }: { name: string }) {
        return name === 'go';
      }
    }
    const kinds = [
      { waitFor: 'go', waitTimeout: 90_000, label: 'go', ms: 90_000 },
      { waitFor: defineSignal('go'), waitTimeout: '1.5h', label: 'go', ms: 5_400_000 },
      { waitFor: matcher('go', () => true), waitTimeout: '250', label: 'go', ms: 250 },
      { waitFor: new Refunds(), waitTimeout: () => '2 days' as const, label: 'Refunds', ms: 2 * DAY },
    ] as const;
    const classes = kinds.map(({ waitFor, waitTimeout }, index) => {
      @Workflow({ name: `Kind${index}` })
      class Kind extends WorkflowOf {
        @Step({ waitFor, waitTimeout, onTimeout: 'notify' })
        async gate(ctx: Ctx<this>) {
          await note(ctx);
        }
      }
      return Kind;
    });
    const { workflows } = await suite.boot(classes);
    for (const [index, { label, ms }] of kinds.entries()) {
      const run = await workflows.start(classes[index]);
      await until(run, 'waiting');
      const [row] = await sql(
        `select wait_for, (extract(epoch from timeout_at - waiting_since) * 1000)::float8 as ms from workflow_steps where workflow_id = $1`,
        [run.id],
      );
      // A notice may have moved the shortest one on.
      expect({ ...row, ms: row.ms % ms }).toEqual({ wait_for: label, ms: 0 });
      await run.signal('go');
      await until(run, 'finished');
      expect(seenBy(run)).toEqual([expect.objectContaining({ received: { name: 'go', payload: {} } })]);
    }
  });

  test('DEF-10 DEF-11 DEF-12 DEF-13 what cannot be waited for does not load', () => {
    expect(() => waiting({ waitTimeout: 0 })).toThrow(WorkflowDefinitionError);
    expect(() => waiting({ waitTimeout: 'missing' })).toThrow(WorkflowDefinitionError);
    expect(() => waiting({ onTimeout: 'skip' })).toThrow(WorkflowDefinitionError);
    expect(() => waiting({ waitTimeout: 5, onTimeout: 'explode' as never })).toThrow(WorkflowDefinitionError);
    expect(() => waiting({ waitFor: '' } as never)).toThrow(WorkflowDefinitionError);
    expect(() => waiting({ waitFor: undefined, waitTimeout: 5 } as never)).toThrow(WorkflowDefinitionError);
  });

  test('WAIT-12 the callable is called on the instance, with subject and args, as the current step, once an attempt', async () => {
    const { workflows } = await boot();
    const calls: unknown[] = [];
    const run = await start(workflows, {
      deadline(ctx) {
        calls.push([
          this.calendar.name,
          ctx.stepName,
          ctx.attempt,
          (ctx.subject as unknown as Ticket).constructor.name,
          Object.keys(ctx.args as object),
          currentStep()?.stepName,
        ]);
        return null;
      },
    });
    await until(run, 'waiting');
    expect(calls).toEqual([['the injected calendar', 'gate', 1, 'Ticket', ['key'], 'gate']]);
    // Neither when a signal wakes the step, nor when it runs.
    await run.signal('go');
    await suite.eventually(() => calls.length === 2, 'the function of the second step is asked');
    expect(calls[1]).toEqual(['the injected calendar', 'second', 1, 'Ticket', ['key'], 'second']);
    expect(seenBy(run)).toEqual([expect.objectContaining({ attempt: 1, timedOut: false })]);
  });

  test('WAIT-12 it is not asked when a guard ends the attempt', async () => {
    const { workflows } = await boot();
    const asked: string[] = [];
    const deadline = ({ stepName }: StepContext) => void asked.push(stepName);
    const skipped = await start(workflows, { deadline, skip: true });
    const cancelled = await start(workflows, { deadline, cancel: true });
    await until(skipped, 'waiting');
    await until(cancelled, 'cancelled');
    expect(asked).toEqual(['second']);
    expect(await attempts(skipped)).toEqual(['gate#1 skipped', 'second#1 waiting']);
  });

  test('WAIT-12 a signal that was there first: no wait, and nobody is asked', async () => {
    let calls = 0;
    const Asked = waiting({ waitTimeout: () => void (calls += 1) });
    const starter = await suite.boot([Asked], { worker: false });
    const run = await starter.workflows.start(Asked);
    await run.signal('go');
    await suite.boot([Asked]);
    await until(run, 'finished');
    expect(calls).toBe(0);
    expect(await trail(run)).not.toContain('step_waiting');
  });

  const moment = new Date(Date.now() + 5 * DAY + 123);

  test.each<[string, unknown]>([
    ['a Date', moment],
    ['an object with toDate()', { toDate: () => moment }],
    ['an object with toJSDate()', { toJSDate: () => moment }],
    ['a promise of a Date', Promise.resolve(moment)],
  ])('WAIT-13 AMB-11 %s is the deadline, on every attempt', async (_, answer) => {
    const { workflows } = await boot();
    const run = await start(workflows, {
      deadline: () => answer,
      body: (ctx) => ctx.attempt === 1 && ctx.reattempt(),
    });
    await until(run, 'waiting');
    expect((await newestRow(sql, run)).timeout_at).toEqual(moment);
    await passDeadline(sql, run);
    await suite.eventually(async () => (await attempts(run)).at(-1) === 'gate#2 waiting', 'it waits again');
    expect((await newestRow(sql, run)).timeout_at).toEqual(moment);
  });

  test.each([
    ['just gone', () => new Date(Date.now() - 1)],
    ['long gone', () => new Date(0)],
    ['further back than the database reaches', () => new Date(-8.64e15)],
  ])('WAIT-14 a date %s: the row parks all the same, its deadline is now, and onTimeout follows', async (_, date) => {
    const { workflows } = await boot();
    const run = await start(workflows, { deadline: ({ stepName }) => (stepName === 'gate' ? date() : null) });
    await suite.eventually(async () => (await attempts(run)).at(-1) === 'second#1 waiting', 'it went on');
    expect((await trail(run)).slice(2, 6)).toEqual([
      'step_waiting',
      'wait_timed_out',
      'step_started',
      'step_completed',
    ]);
    const [row] = await sql(
      `select to_char(waiting_since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at from workflow_steps
       where workflow_id = $1 and step_name = 'gate'`,
      [run.id],
    );
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'run', timeout_at: row.at }]);
    expect(seenBy(run)).toEqual([{ attempt: 1, received: null, timedOut: true, woken: false, ready: false }]);
  });

  test.each<[unknown, string]>([
    ['90s', '90 seconds'],
    [1_500, '1.5 seconds'],
    [Promise.resolve('2 days'), '2 days'],
  ])('WAIT-15 AMB-11 the duration %p counts from the park', async (answer, interval) => {
    const { workflows } = await boot();
    const run = await start(workflows, { deadline: () => answer });
    await until(run, 'waiting');
    const [row] = await sql(
      'select timeout_at = waiting_since + $2::interval as right from workflow_steps where workflow_id = $1',
      [run.id, interval],
    );
    expect(row).toEqual({ right: true });
    await run.cancel();
  });

  test.each([[null], [undefined], [Promise.resolve(null)]])(
    'WAIT-16 AMB-11 %p parks without a deadline, and the next attempt asks again',
    async (none) => {
      const { workflows } = await boot();
      const answers = [none, '1 day'];
      const run = await start(workflows, { deadline: () => answers.shift() });
      await until(run, 'waiting');
      expect((await newestRow(sql, run)).timeout_at).toBeNull();
      await run.pause();
      await run.resumeAt('gate');
      await until(run, 'waiting');
      expect(await attempts(run)).toEqual(['gate#1 cancelled', 'gate#2 waiting']);
      expect((await newestRow(sql, run)).timeout_at).toBeInstanceOf(Date);
      expect(answers).toEqual([]);
    },
  );

  const failedAtTheGate = ['started', 'step_scheduled', 'step_failed', 'paused'];

  async function failed(run: WorkflowHandle) {
    await until(run, 'paused');
    expect(await trail(run)).toEqual(failedAtTheGate);
    const row = await newestRow(sql, run);
    expect(row).toMatchObject({ status: 'failed', wait_for: null, waiting_since: null, timeout_at: null });
    return (await run.steps())[0].error!;
  }

  test.each<[string, unknown, string]>([
    ['an ISO text', '2030-01-01T00:00:00Z', '"2030-01-01T00:00:00Z"'],
    ['a boolean', true, 'true'],
    ['NaN', NaN, 'NaN'],
    ['an object', {}, '{}'],
    ['an invalid Date', new Date(NaN), 'Invalid Date'],
    ['zero', 0, '0'],
    ['a negative duration', '-5s', '"-5s"'],
    ['a promise of an ISO text', Promise.resolve('2030-01-01'), '"2030-01-01"'],
  ])('WAIT-15 WAIT-17 AMB-12 %s fails at the gate; the row never waits', async (_, answer, shown) => {
    const { workflows, reported } = await boot();
    const run = await start(workflows, { deadline: () => answer });
    const { class: kind, message } = await failed(run);
    expect(kind).toBe('WorkflowDefinitionError');
    expect(message).toMatch(/^Asks, step "gate": "waitTimeout" is /);
    expect(message).toContain(`is ${shown}; allowed: a valid Date, an object with toDate() or toJSDate(), a duration`);
    expect(reported).toEqual([
      {
        error: expect.any(WorkflowDefinitionError),
        context: { workflowClass: 'Asks', workflowId: run.id, stepName: 'gate', attempt: 1, outcome: 'paused' },
      },
    ]);
  });

  test("WAIT-17 what it throws itself goes to the step's policies: one skips, one tries again", async () => {
    const { workflows } = await boot();
    const broken = await start(workflows, {
      deadline() {
        throw new RangeError('the calendar is torn');
      },
    });
    expect(await failed(broken)).toMatchObject({ class: 'RangeError', message: 'the calendar is torn' });

    const tolerated = await start(workflows, {
      async deadline({ stepName }) {
        if (stepName === 'gate') throw new Tolerated('never mind');
      },
    });
    await until(tolerated, 'waiting');
    expect(await attempts(tolerated)).toEqual(['gate#1 skipped: Tolerated', 'second#1 waiting']);

    const transient = await start(workflows, {
      deadline({ attempt }) {
        if (attempt === 1) throw new Transient('try again');
        return '1 day';
      },
    });
    await until(transient, 'waiting');
    expect(await attempts(transient)).toEqual(['gate#1 failed, reattempted: Transient', 'gate#2 waiting']);
  });

  test('WAIT-17 a verb in it is refused, as in a guard', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { deadline: (ctx) => ctx.skip() });
    expect(await failed(run)).toMatchObject({ class: 'NotInStepError' });
  });

  test('WAIT-18 its own query that breaks goes to the policies, and the outcome commits without what it wrote', async () => {
    const { workflows } = await boot();
    const write = (ctx: StepContext) => ctx.manager.query(`insert into deadline_notes values ('lost')`);
    const loud = await start(workflows, {
      async deadline(ctx) {
        await write(ctx);
        await ctx.manager.query('select 1 / 0');
      },
    });
    const silent = await start(workflows, {
      async deadline(ctx) {
        await write(ctx);
        await ctx.manager.query('select 1 / 0').catch(() => undefined);
        return '1 day';
      },
    });
    expect(await failed(loud)).toMatchObject({ class: 'QueryFailedError', message: 'division by zero' });
    expect((await failed(silent)).message).toMatch(/query failed in the database/);
    expect(await sql('select * from deadline_notes')).toEqual([]);
  });

  test('WAIT-18 what it writes commits with the park, and it sees the run under the lock', async () => {
    const { workflows } = await boot();
    let kept: StepContext | undefined;
    const run = await start(workflows, {
      async deadline(ctx) {
        kept = ctx;
        const [row] = await ctx.manager.query(`select status from workflows where id = $1 for no key update nowait`, [
          ctx.workflowId,
        ]);
        await ctx.manager.query('insert into deadline_notes values ($1)', [`kept, ${row.status}`]);
        return '1 day';
      },
    });
    await until(run, 'waiting');
    expect(() => kept!.manager).toThrow(NotInStepError);
    expect(await sql('delete from deadline_notes returning note')).toEqual([[{ note: 'kept, ready' }], 1]);
  });

  test('WAIT-18 one that never settles is ended by guardTimeout, and the lock is free', async () => {
    const { workflows } = await boot({ guardTimeout: 100 });
    const run = await start(workflows, { deadline: () => new Promise(() => undefined) });
    expect(await failed(run)).toMatchObject({ class: 'StepTimedOutError' });
    expect((await run.cancel({ lockTimeout: 1_000 })).status).toBe('cancelled');
  });

  test('WAIT-19 a body that reattempts after a time-out parks and asks again, and takes a signal that came by then', async () => {
    const { workflows } = await boot();
    const asked: number[] = [];
    const run = await start(workflows, {
      deadline({ attempt, stepName }) {
        if (stepName === 'gate') asked.push(attempt);
        return '1 day';
      },
      async body(ctx) {
        if (!ctx.timedOut) return;
        if (ctx.attempt === 2) await (await workflows.find(ctx.workflowId)).signal('go', { for: 'attempt 3' });
        ctx.reattempt();
      },
    });
    for (const attempt of [1, 2]) {
      await suite.eventually(async () => (await attempts(run)).at(-1) === `gate#${attempt} waiting`, 'it waits');
      await passDeadline(sql, run);
    }
    await suite.eventually(async () => (await attempts(run)).at(-1) === 'second#1 waiting', 'it went on');
    expect(asked).toEqual([1, 2]);
    expect(seenBy(run)).toEqual([
      { attempt: 1, received: null, timedOut: true, woken: false, ready: false },
      { attempt: 2, received: null, timedOut: true, woken: false, ready: false },
      {
        attempt: 3,
        received: { name: 'go', payload: { for: 'attempt 3' } },
        timedOut: false,
        woken: false,
        ready: true,
      },
    ]);
  });

  test('WAIT-19 the same past date times each attempt out at once, and nothing else', async () => {
    const { workflows } = await boot();
    const past = new Date(1_000);
    const run = await start(workflows, {
      deadline: ({ stepName }) => (stepName === 'gate' ? past : null),
      body: (ctx) => ctx.attempt < 5 && ctx.reattempt(),
    });
    const patient = await start(workflows, { deadline: () => '1 day' });
    await suite.eventually(async () => (await attempts(run)).at(-1) === 'second#1 waiting', 'it went on');
    expect(seenBy(run).map(({ attempt, timedOut }) => [attempt, timedOut])).toEqual(
      [1, 2, 3, 4, 5].map((attempt) => [attempt, true]),
    );
    expect(await timeOuts(sql, run)).toHaveLength(5);
    expect(await until(patient, 'waiting')).toBe('waiting');
  });
});
