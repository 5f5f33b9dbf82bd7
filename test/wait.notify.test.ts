import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  currentStep,
  NotInStepError,
  OnException,
  Step,
  Workflow,
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

type Answer = (this: Asks, ctx: StepContext) => unknown;
const answers = new Map<string, Answer>();
const policies: string[] = [];

/** Its policies would cancel: they are not asked at a notice. */
@Workflow({ onException: { action: 'cancel' } })
class Asks extends WorkflowOf<null, { key: string }> {
  readonly kept = 'its own field';

  @Step({ waitFor: 'go', waitTimeout: 'deadline', onTimeout: 'notify', onException: { action: 'skip' } })
  async gate(ctx: Ctx<this>) {
    await note(ctx);
  }

  @OnException(RangeError)
  handled(_error: RangeError, ctx: Ctx<this>) {
    policies.push(ctx.workflowId);
  }

  deadline(ctx: Ctx<this>) {
    return answers.get(ctx.args.key)!.call(this, ctx);
  }
}

function start(workflows: WorkflowService, answer: Answer) {
  const key = randomUUID();
  answers.set(key, answer);
  return workflows.start(Asks, { args: { key } });
}

const Hourly = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });
const DAY = 86_400_000;
const CHANNEL = 'workflow.wait_timed_out';

describe('notify', () => {
  const suite = workflowSuite();
  const { sql, until, trail, eventually } = suite;
  const boot = (options: Parameters<typeof suite.boot>[1] = {}) => suite.boot([Asks], options);

  const messages: Record<string, unknown>[] = [];
  const listen = (message: unknown) => void messages.push(message as Record<string, unknown>);
  beforeAll(() => subscribe(CHANNEL, listen));
  afterAll(() => void unsubscribe(CHANNEL, listen));
  beforeAll(() => sql('create table notice_notes (note text)'));

  const noticed = (run: WorkflowHandle, count = 1) =>
    eventually(async () => (await timeOuts(sql, run)).length >= count, `notice ${count} is given`);
  /** Another deadline fires: the worker has looked once more, after whatever was due before. */
  const lookedAgain = async (workflows: WorkflowService) => {
    const other = await start(workflows, () => '1 hour');
    await until(other, 'waiting');
    await passDeadline(sql, other);
    await noticed(other);
    await other.cancel();
  };

  test('WAIT-20 WAIT-21 the notice: event and message, the same attempt waits on, one period later; nothing failed', async () => {
    const { workflows, reported } = await suite.boot([Hourly]);
    const run = await workflows.start(Hourly);
    await until(run, 'waiting');
    const before = await newestRow(sql, run);
    const at = await passDeadline(sql, run, '90 seconds');
    const [{ exact }] = await sql('select timeout_at::text as exact from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    await noticed(run);

    const after = await newestRow(sql, run);
    expect({ ...after, timeout_at: null }).toEqual({ ...before, timeout_at: null });
    expect(
      await sql(
        `select timeout_at = $2::timestamptz + interval '1 hour' as moved from workflow_steps where workflow_id = $1`,
        [run.id, exact],
      ),
    ).toEqual([{ moved: true }]);
    expect((await run.reload()).status).toBe('waiting');
    expect(await attempts(run)).toEqual(['gate#1 waiting']);
    const [notice] = (await run.events()).slice(-1);
    expect(notice).toMatchObject({
      name: 'wait_timed_out',
      actor: 'system',
      stepName: 'gate',
      attempt: 1,
      details: { wait_for: 'go', action: 'notify', timeout_at: at },
    });
    expect(await trail(run)).toEqual(['started', 'step_scheduled', 'step_waiting', 'wait_timed_out']);
    expect(reported).toEqual([]);
    expect(messages.filter(({ workflowId }) => workflowId === run.id)).toEqual([
      {
        workflowClass: run.workflowName,
        workflowId: run.id,
        stepName: 'gate',
        attempt: 1,
        waitFor: 'go',
        action: 'notify',
        timeoutAt: new Date(at),
      },
    ]);
  });

  test('WAIT-22 WAIT-10 a signal after several notices wakes that attempt; it has not timed out', async () => {
    const { workflows } = await suite.boot([Hourly]);
    const run = await workflows.start(Hourly);
    await until(run, 'waiting');
    for (const count of [1, 2, 3]) {
      await passDeadline(sql, run);
      await noticed(run, count);
    }
    expect(await run.signal('go', { late: true })).toMatchObject({ status: 'claimed' });
    await until(run, 'finished');
    expect(seenBy(run)).toEqual([
      { attempt: 1, received: { name: 'go', payload: { late: true } }, timedOut: false, woken: true, ready: true },
    ]);
    expect(await attempts(run)).toEqual(['gate#1 completed', 'after#1 completed']);
    expect(await timeOuts(sql, run)).toHaveLength(3);
  });

  test('WAIT-23 after several missed deadlines one notice, and the first deadline ahead that is whole periods later', async () => {
    const { workflows } = await suite.boot([Hourly]);
    const run = await workflows.start(Hourly);
    await until(run, 'waiting');
    const at = await passDeadline(sql, run, '3 hours 20 minutes');
    const [{ exact }] = await sql('select timeout_at::text as exact from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    await noticed(run);
    expect(
      await sql(
        `select timeout_at = $2::timestamptz + interval '4 hours' as fourth from workflow_steps where workflow_id = $1`,
        [run.id, exact],
      ),
    ).toEqual([{ fourth: true }]);
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'notify', timeout_at: at }]);
  });

  test('WAIT-23 WAIT-24 periods that are no whole milliseconds keep their grid', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, () => 1_000_000 / 3);
    await until(run, 'waiting');
    await passDeadline(sql, run, '1 day');
    const [{ exact }] = await sql('select timeout_at::text as exact from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    await noticed(run);
    // 259.2 periods a day: the 260th, to the microsecond.
    const [row] = await sql(
      `select timeout_at - $2::timestamptz = interval '86666.666667 seconds' as next from workflow_steps where workflow_id = $1`,
      [run.id, exact],
    );
    expect(row).toEqual({ next: true });
  });

  test('WAIT-24 a callable is asked at each notice: a later Date is the deadline, a duration is the period', async () => {
    const { workflows } = await boot();
    const moment = new Date(Date.now() + 5 * DAY);
    const calls: unknown[] = [];
    const replies = ['1 hour', moment, '2 hours', { toJSDate: () => moment }];
    const run = await start(workflows, function (ctx) {
      calls.push([this.kept, ctx.attempt, ctx.timedOut, ctx.receivedSignal, currentStep()?.workflowId]);
      return replies[calls.length - 1];
    });
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await noticed(run, 1);
    expect((await newestRow(sql, run)).timeout_at).toEqual(moment);

    await passDeadline(sql, run, '3 hours');
    const [{ exact }] = await sql('select timeout_at::text as exact from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    await noticed(run, 2);
    expect(
      await sql(
        `select timeout_at = $2::timestamptz + interval '4 hours' as second from workflow_steps where workflow_id = $1`,
        [run.id, exact],
      ),
    ).toEqual([{ second: true }]);

    await passDeadline(sql, run);
    await noticed(run, 3);
    expect((await newestRow(sql, run)).timeout_at).toEqual(moment);
    expect(calls).toEqual([1, 2, 3, 4].map(() => ['its own field', 1, false, null, run.id]));
  });

  test.each<[string, (passed: Date) => unknown]>([
    ['null', () => null],
    ['undefined', () => undefined],
    ['the same Date again', (passed) => passed],
    ['a Date long gone', () => new Date(-8.64e15)],
  ])('WAIT-25 %s: reported once, no deadline any more, and it still waits for its signal', async (_, answer) => {
    const { workflows, reported } = await boot();
    const was: { passed?: Date } = {};
    const run = await start(workflows, () => (was.passed ? answer(was.passed) : '1 day'));
    await until(run, 'waiting');
    was.passed = new Date(await passDeadline(sql, run, '1 hour'));
    await noticed(run);
    expect(await newestRow(sql, run)).toMatchObject({ status: 'waiting', timeout_at: null, stopped_timeout_at: null });
    await lookedAgain(workflows);
    expect(await timeOuts(sql, run)).toHaveLength(1);
    expect(await attempts(run)).toEqual(['gate#1 waiting']);
    await run.signal('go');
    await until(run, 'finished');
    expect(seenBy(run)).toEqual([expect.objectContaining({ attempt: 1, timedOut: false, woken: true })]);
    expect(reported).toEqual([]);
  });

  /** Parks with a deadline, and answers so at the notice. */
  async function atNotice(workflows: WorkflowService, answer: Answer) {
    let first = true;
    const run = await start(workflows, function (ctx) {
      if (!first) return answer.call(this, ctx);
      first = false;
      return '1 hour';
    });
    await until(run, 'waiting');
    const at = await passDeadline(sql, run);
    await until(run, 'paused');
    return { run, at };
  }

  test.each<[string, Answer, RegExp]>([
    [
      'throws',
      () => {
        throw new RangeError('the calendar is torn');
      },
      /^RangeError: the calendar is torn$/,
    ],
    ['rejects', async () => Promise.reject(new RangeError('torn too')), /^RangeError: torn too$/],
    [
      'answers an ISO text',
      () => '2030-01-01',
      /^WorkflowDefinitionError: Asks, step "gate": "waitTimeout" is "2030-01-01"/,
    ],
    ['answers zero', () => 0, /^WorkflowDefinitionError: /],
    ['calls a verb', (ctx) => ctx.skip(), /^NotInStepError: .*was called in a guard/],
    ['has a query that breaks', (ctx) => ctx.manager.query('select 1 / 0'), /^QueryFailedError: division by zero$/],
    [
      'swallows that its query broke',
      (ctx) => ctx.manager.query('select 1 / 0').catch(() => '1 hour'),
      /^Error: Asks, step "gate": waitTimeout's query failed in the database/,
    ],
    [
      'ends the transaction',
      async (ctx) => (await ctx.manager.query('commit')) && '1 hour',
      /waitTimeout ended its transaction itself/,
    ],
  ])(
    'WAIT-26 AMB-40 a callable that %s: the notice first, then the attempt failed and the run is paused; policies are not asked',
    async (_, answer, message) => {
      const { workflows, reported } = await boot();
      policies.length = 0;
      const { run, at } = await atNotice(workflows, async function (ctx) {
        await ctx.manager.query(`insert into notice_notes values ('lost')`);
        return answer.call(this, ctx);
      });
      const [{ status, outcome, error }] = await run.steps();
      expect({ status, outcome }).toEqual({ status: 'failed', outcome: 'paused' });
      expect(`${error!.class}: ${error!.message}`).toMatch(message);
      expect((await trail(run)).slice(2)).toEqual(['step_waiting', 'wait_timed_out', 'step_failed', 'paused']);
      expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'notify', timeout_at: at }]);
      expect(policies).toEqual([]);
      await eventually(() => reported.length > 0, 'the error is reported');
      expect(reported).toEqual([
        {
          error: expect.objectContaining({ message: error!.message }),
          context: { workflowClass: 'Asks', workflowId: run.id, stepName: 'gate', attempt: 1, outcome: 'paused' },
        },
      ]);
      expect(messages.filter(({ workflowId }) => workflowId === run.id)).toHaveLength(1);
      // What it committed itself is nobody's to take back.
      const committed = /ended its transaction/.test(error!.message) ? [{ note: 'lost' }] : [];
      expect(await sql('select note from notice_notes')).toEqual(committed);
      await sql('delete from notice_notes');
    },
  );

  test.each<[string, Answer]>([
    ['never settles', () => new Promise(() => undefined)],
    ['has a query in flight', (ctx) => ctx.manager.query('select pg_sleep(60)')],
    ['swallows that its query was cancelled', (ctx) => ctx.manager.query('select pg_sleep(60)').catch(() => '1 hour')],
  ])(
    'WAIT-26 guardTimeout ends a callable that %s at a notice: the same failure, and the lock is free',
    async (_, answer) => {
      const { workflows } = await boot({ guardTimeout: 100 });
      const { run } = await atNotice(workflows, answer);
      const [{ error }] = await run.steps();
      expect(error).toMatchObject({
        class: 'StepTimedOutError',
        message: expect.stringMatching(/its waitTimeout took longer than guardTimeout \(100 ms\)/),
      });
      expect((await trail(run)).slice(3)).toEqual(['wait_timed_out', 'step_failed', 'paused']);
      expect((await run.cancel({ lockTimeout: 1_000 })).status).toBe('cancelled');
      const idle = await sql(
        `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      expect(idle).toEqual([]);
    },
  );

  test('WAIT-24 what a callable writes commits with the notice; its context ends with it', async () => {
    const { workflows } = await boot();
    let kept: StepContext | undefined;
    const run = await start(workflows, async (ctx) => {
      kept = ctx;
      await ctx.manager.query('insert into notice_notes values ($1)', [(await sql(`select 'asked' as a`))[0].a]);
      return '1 hour';
    });
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await noticed(run);
    expect(await sql('select note from notice_notes')).toEqual([{ note: 'asked' }, { note: 'asked' }]);
    expect(() => kept!.manager).toThrow(NotInStepError);
    await sql('delete from notice_notes');
  });

  test('WAIT-26 after the failure resume waits anew, and asks', async () => {
    const { workflows } = await boot();
    let broken = true;
    const { run } = await atNotice(workflows, () => {
      if (broken) throw new RangeError('once');
      return '1 day';
    });
    broken = false;
    await run.resume();
    await until(run, 'waiting');
    expect(await attempts(run)).toEqual(['gate#1 failed, paused: RangeError', 'gate#2 waiting']);
    await run.signal('go');
    await until(run, 'finished');
  });
});
