import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  OnException,
  Step,
  StepStalledError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StallDetectedMessage,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { declareStalled } from '../libs/workflow/src/engine/stall';
import { ENGINE_PARTS } from '../libs/workflow/src/engine/engine.parts';
import { attempts } from './support/attempts';
import { addTasks, fanning, fanScript, membersOf, Task } from './support/fan';
import { leaveInProgress } from './support/lost-worker';
import { allRows } from './support/rows';
import { held, script, Scripted } from './support/scripted';
import { Signalled, signalScript, signalsOf } from './support/signalled';
import { workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, leaveMembersInProgress, stallTrail, startedAgo, sweep } from './support/sweep';

@Workflow()
class Bounded extends WorkflowOf<null, { step: 'shorter' | 'longer' | 'unbounded' }> {
  @Step({ timeout: '10m', skipIf: ({ args }: StepContext) => args.step !== 'shorter' })
  async shorter(_ctx: Ctx<this>) {}

  @Step({ timeout: '2h', skipIf: ({ args }: StepContext) => args.step !== 'longer' })
  async longer(_ctx: Ctx<this>) {}

  @Step()
  async unbounded(_ctx: Ctx<this>) {}
}

const asked: unknown[] = [];

/** Whatever goes wrong in its one step, its policies say `skip`; a `RangeError` is tried once more, then the run ends. */
@Workflow()
class Lenient extends WorkflowOf {
  @Step({
    onException: [{ matching: RangeError, action: 'reattempt', maxReattempts: 1, terminalAction: 'cancel' }],
  })
  async only(_ctx: Ctx<this>) {
    throw new RangeError('out of range');
  }

  @OnException()
  async handle(error: unknown, ctx: StepContext) {
    asked.push(error);
    ctx.skip();
  }
}

const late: { body: (ctx: StepContext) => unknown } = { body: () => undefined };

@Workflow()
class LateTransactional extends WorkflowOf {
  @Step({ transactional: true })
  async only(ctx: Ctx<this>) {
    await ctx.manager.query(`insert into late_writes values ($1)`, [ctx.workflowId]);
    await late.body(ctx);
  }
}

const Fans = fanning('StalledFans');
const FansTolerant = fanning('StalledFansTolerant', { onBatchFailure: 'skip' });

describe('stalls', () => {
  const suite = workflowSuite();
  const { sql, until, trail, eventually } = suite;

  const heard: StallDetectedMessage[] = [];
  const hear = (message: unknown) => void heard.push(message as StallDetectedMessage);

  beforeAll(() => subscribe('workflow.stall_detected', hear));
  afterAll(() => unsubscribe('workflow.stall_detected', hear));
  beforeEach(() => void heard.splice(0));

  /** A run whose first step is in progress under a worker that is no more, since a minute ago. */
  async function lost({ workflows }: TestApp, pausedOutside = false): Promise<WorkflowHandle> {
    const run = await workflows.start(Scripted, script({}));
    await leaveInProgress(sql, run);
    if (pausedOutside) await (await run.reload()).pause({ actor: 'olga' });
    return run;
  }

  /** Declares the run's attempt in progress stalled, as whoever found its lease lapsed does. */
  async function lapse({ app }: TestApp, run: WorkflowHandle) {
    const [row] = await sql<{ id: string; claim_no: number }>(
      `select id, claim_no from workflow_steps where workflow_id = $1 and member_index = -1 and status = 'in_progress'`,
      [run.id],
    );
    return declareStalled(app.get(ENGINE_PARTS), { id: row.id, workflowId: run.id, claimNo: row.claim_no }, 'lease');
  }

  test('SWEEP-03 a step in progress for longer than its timeout, else stallThreshold, is stalled by the next sweep', async () => {
    const app = await suite.boot([Bounded], { worker: CLAIMS_NOTHING, stallThreshold: '1h', stallAction: 'cancel' });
    const cases = [
      ['unbounded', '59 minutes', 'performing'],
      ['unbounded', '61 minutes', 'cancelled'],
      ['shorter', '9 minutes', 'performing'],
      ['shorter', '11 minutes', 'cancelled'],
      // A timeout longer than stallThreshold wins over it.
      ['longer', '119 minutes', 'performing'],
      ['longer', '121 minutes', 'cancelled'],
    ] as const;
    const runs: WorkflowHandle[] = [];
    for (const [step, ago] of cases) {
      const run = await app.workflows.start(Bounded, { args: { step } });
      await sql(`update workflow_steps set step_name = $2 where workflow_id = $1`, [run.id, step]);
      await sql(`update workflows set current_step = $2 where id = $1`, [run.id, step]);
      await leaveInProgress(sql, run);
      await startedAgo(sql, run, ago);
      // Its worker lives: the lease does not lapse.
      await sql(`update workflow_steps set lease_expires_at = 'infinity' where workflow_id = $1`, [run.id]);
      runs.push(run);
    }
    await sweep(app);
    const ended = await Promise.all(runs.map((run) => run.reload()));
    expect(ended.map(({ status }, at) => [cases[at][0], cases[at][1], status])).toEqual(cases);
    const errors = await Promise.all([1, 3, 5].map(async (at) => (await runs[at].steps())[0].error));
    expect(errors).toEqual([
      expect.objectContaining({
        class: 'StepStalledError',
        message: expect.stringContaining('stallThreshold (3600000 ms)'),
      }),
      expect.objectContaining({ class: 'StepStalledError', message: expect.stringContaining('timeout (600000 ms)') }),
      expect.objectContaining({ class: 'StepStalledError', message: expect.stringContaining('timeout (7200000 ms)') }),
    ]);
  });

  test('SWEEP-04 SWEEP-07 AMB-31 pause: the row failed, the run paused, its signal kept; the reporter is told once; resume runs the step with that signal', async () => {
    const app = await suite.boot([Signalled], { worker: CLAIMS_NOTHING, stallThreshold: '30s' });
    const starter = await suite.boot([Signalled]);
    const seen: unknown[] = [];
    const run = await starter.workflows.start(
      Signalled,
      signalScript({ pay: (ctx) => void seen.push(ctx.attempt, ctx.receivedSignal?.payload) }),
    );
    await until(run, 'waiting');
    await starter.close();
    await (await app.workflows.find(run.id)).signal('paid', { amount: 3 });
    await leaveInProgress(sql, run);
    await sweep(app);

    const stalled = await app.workflows.find(run.id);
    expect(stalled).toMatchObject({
      status: 'paused',
      currentStep: 'pay',
      availableActions: expect.arrayContaining(['resume']),
    });
    expect((await attempts(stalled)).slice(1)).toEqual(['pay#1 failed, paused: StepStalledError']);
    expect(await stallTrail(sql, run)).toEqual([
      'stall_detected sweep by system',
      'step_failed by system',
      'paused by system',
    ]);
    expect(await signalsOf(sql, run)).toEqual(['paid claimed by pay#1']);
    expect(app.reported).toEqual([
      {
        error: expect.any(StepStalledError),
        context: { workflowClass: 'Signalled', workflowId: run.id, stepName: 'pay', attempt: 1, outcome: 'paused' },
      },
    ]);
    await sweep(app);
    expect(app.reported).toHaveLength(1);

    await stalled.resume();
    await suite.boot([Signalled]);
    await until(run, 'finished');
    expect(seen).toEqual([2, { amount: 3 }]);
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#2']);
  });

  test('SWEEP-05 reattempt: the row failed, the next attempt is scheduled, due at once, and completes', async () => {
    const app = await suite.boot([Scripted], {
      worker: CLAIMS_NOTHING,
      stallThreshold: '30s',
      stallAction: 'reattempt',
    });
    const run = await lost(app);
    await sweep(app);
    expect(await attempts(run)).toEqual(['one#1 failed, reattempted: StepStalledError', 'one#2 scheduled']);
    expect((await run.reload()).status).toBe('ready');
    expect(await stallTrail(sql, run)).toEqual([
      'stall_detected sweep by system',
      'step_reattempted by system',
      'step_scheduled by system',
    ]);
    await suite.boot([Scripted]);
    await until(run, 'finished');
    expect(await attempts(run)).toEqual([
      'one#1 failed, reattempted: StepStalledError',
      'one#2 completed',
      'two#1 completed',
      'three#1 completed',
    ]);
  });

  test('SWEEP-06 cancel: the row failed, the run cancelled, its signals used up', async () => {
    const app = await suite.boot([Signalled], { worker: false });
    const run = await app.workflows.start(Signalled, signalScript());
    await sql(`update workflow_steps set step_name = 'pay' where workflow_id = $1`, [run.id]);
    await sql(`update workflows set current_step = 'pay' where id = $1`, [run.id]);
    await run.signal('paid');
    await leaveInProgress(sql, run);
    await sql(
      `update workflow_signals g set status = 'claimed', claimed_by_step_id = s.id
       from workflow_steps s where g.workflow_id = $1 and s.workflow_id = $1`,
      [run.id],
    );
    const worker = await suite.boot([Signalled], {
      worker: CLAIMS_NOTHING,
      stallThreshold: '30s',
      stallAction: 'cancel',
    });
    await sweep(worker);
    expect((await run.reload()).status).toBe('cancelled');
    expect(await attempts(run)).toEqual(['pay#1 failed, cancelled: StepStalledError']);
    expect(await stallTrail(sql, run)).toEqual([
      'stall_detected sweep by system',
      'step_failed by system',
      'cancelled by system',
    ]);
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1']);
  });

  test('SWEEP-07 a stall is told on workflow.stall_detected, once, with how it was found; policies are not asked', async () => {
    asked.splice(0);
    const app = await suite.boot([Lenient], { worker: CLAIMS_NOTHING, stallThreshold: '30s' });
    const [swept, lapsed] = [await app.workflows.start(Lenient), await app.workflows.start(Lenient)];
    for (const run of [swept, lapsed]) await leaveInProgress(sql, run);
    expect(await lapse(app, lapsed)).toMatchObject({ stalled: true });
    await sweep(app);
    await sweep(app);
    const told = (run: WorkflowHandle, detection: string) => ({
      workflowClass: 'Lenient',
      workflowId: run.id,
      stepName: 'only',
      attempt: 1,
      detection,
      outcome: 'paused',
      worker: 'lost:1',
    });
    expect(heard).toEqual([told(lapsed, 'lease'), told(swept, 'sweep')]);
    expect(await stallTrail(sql, lapsed)).toEqual([
      'stall_detected lease by system',
      'step_failed by system',
      'paused by system',
    ]);
    for (const run of [swept, lapsed]) expect(await attempts(run)).toEqual(['only#1 failed, paused: StepStalledError']);
    expect(asked).toEqual([]);
  });

  test('SWEEP-02 what is found lapsed or hung is asked again under the lock: one that was renewed, claimed anew or ended meanwhile is left', async () => {
    const app = await suite.boot([Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '1h' });
    const parts = app.app.get(ENGINE_PARTS);
    const run = await lost(app);
    const [{ id }] = await sql<{ id: string }>('select id from workflow_steps where workflow_id = $1', [run.id]);
    const declare = (detection: 'lease' | 'sweep', claimNo = 1) =>
      declareStalled(parts, { id, workflowId: run.id, claimNo }, detection);
    const before = await allRows(sql);
    // Not hung; of another claim.
    expect(await declare('sweep')).toEqual({ stalled: false, report: null });
    expect(await declare('lease', 2)).toEqual({ stalled: false, report: null });
    expect(await allRows(sql)).toEqual(before);
    await sql(
      `update workflow_steps set lease_expires_at = statement_timestamp() + interval '5 seconds' where id = $1`,
      [id],
    );
    expect(await declare('lease')).toEqual({ stalled: false, report: null });
    await sql(`update workflow_steps set lease_expires_at = statement_timestamp() where id = $1`, [id]);
    expect(await declare('lease')).toMatchObject({ stalled: true });
    expect(await declare('lease')).toEqual({ stalled: false, report: null });
    expect((await trail(run)).filter((name) => name === 'stall_detected')).toHaveLength(1);
  });

  test.each([
    ['pause', 'paused', ['one#1 failed, paused: StepStalledError'], ['step_failed']],
    [
      'reattempt',
      'paused',
      ['one#1 failed, reattempted: StepStalledError', 'one#2 scheduled'],
      ['step_reattempted', 'step_scheduled'],
    ],
    ['cancel', 'cancelled', ['one#1 failed, cancelled: StepStalledError'], ['step_failed', 'cancelled']],
  ] as const)(
    'SWEEP-08 a stall while the run is paused from outside, with %s: the run is %s',
    async (stallAction, status, rows, events) => {
      const app = await suite.boot([Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '30s', stallAction });
      const run = await lost(app, true);
      await sweep(app);
      expect((await run.reload()).status).toBe(status);
      expect(await attempts(run)).toEqual(rows);
      expect(await stallTrail(sql, run)).toEqual([
        'stall_detected sweep by system',
        ...events.map((name) => `${name} by system`),
      ]);
      if (status === 'cancelled') return;
      // Held: nobody claims what was put in place before a person resumes the run.
      const worker = await suite.boot([Scripted]);
      const other = await worker.workflows.start(Scripted, script({}));
      await until(other, 'finished');
      expect(await attempts(run)).toEqual(rows);
      await run.resume();
      await until(run, 'finished');
      expect((await attempts(run))[1]).toBe('one#2 completed');
    },
  );

  test.each([
    ['returns with output', (ctx: StepContext) => ctx.output({ late: true })],
    ['cancels', (ctx: StepContext) => ctx.cancel()],
    ['finishes', (ctx: StepContext) => ctx.finish()],
    ['reattempts', (ctx: StepContext) => ctx.reattempt()],
    [
      'throws',
      () => {
        throw new Error('too late');
      },
    ],
  ])(
    'SWEEP-09 AMB-35 a body that ignores its abortSignal is stalled, and %s later: nothing changes but the trail',
    async (_, ending) => {
      const app = await suite.boot([Scripted], { stallThreshold: '1h' });
      const one = held(ending);
      const run = await app.workflows.start(Scripted, script({ one: one.body }));
      await one.reached;
      await startedAgo(sql, run, '61 minutes');
      await sweep(app);
      await until(run, 'paused');
      const { workflow_events: before, ...rows } = await allRows(sql);

      one.release();
      await eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the body has ended');
      const { workflow_events: after, ...rowsAfter } = await allRows(sql);
      expect(rowsAfter).toEqual(rows);
      expect(after).toHaveLength(before.length + 1);
      expect(await stallTrail(sql, run)).toEqual([
        'stall_detected sweep by system',
        'step_failed by system',
        'paused by system',
        'late_completion_ignored by system',
      ]);
      expect(app.reported).toEqual([expect.objectContaining({ error: expect.any(StepStalledError) })]);
    },
  );

  test('SWEEP-09 after a reattempt of the stalled step, the late end of the first attempt does not touch the second', async () => {
    const app = await suite.boot([Scripted], { stallThreshold: '1h', stallAction: 'reattempt' });
    const [first, second] = [held((ctx) => ctx.output({ from: 1 })), held((ctx) => ctx.output({ from: 2 }))];
    const run = await app.workflows.start(
      Scripted,
      script({ one: (ctx) => (ctx.attempt === 1 ? first : second).body(ctx) }),
    );
    await first.reached;
    await startedAgo(sql, run, '61 minutes');
    await sweep(app);
    await second.reached;
    first.release();
    await eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the first body has ended');
    expect((await attempts(run)).slice(1)).toEqual(['one#2 in_progress']);
    second.release();
    await until(run, 'finished');
    expect((await run.steps()).map(({ output }) => output)).toEqual([null, { from: 2 }, null, null]);
  });

  test('SWEEP-09 FLOW-17 what a stalled transactional body wrote is rolled back, and a fan-out opens no batch', async () => {
    await sql('create table late_writes (id uuid)');
    const app = await suite.boot([LateTransactional, Fans, Task], { stallThreshold: '1h' });
    const [transactional, fan] = [held(), held()];
    late.body = transactional.body;
    const runs = [
      await app.workflows.start(LateTransactional),
      await app.workflows.start(
        Fans,
        fanScript({
          fan: async (ctx, batch) => {
            addTasks(ctx, batch, 2);
            await fan.body(ctx);
          },
        }),
      ),
    ];
    await Promise.all([transactional.reached, fan.reached]);
    for (const run of runs) await startedAgo(sql, run, '61 minutes');
    await sweep(app);
    for (const run of runs) await until(run, 'paused');
    for (const one of [transactional, fan]) one.release();
    for (const run of runs) {
      await eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the body has ended');
      expect((await trail(run)).slice(-4)).toEqual([
        'stall_detected',
        'step_failed',
        'paused',
        'late_completion_ignored',
      ]);
    }
    expect(await sql('select from late_writes')).toEqual([]);
    expect(await membersOf(sql, runs[1])).toEqual([]);
  });

  test('AMB-15 a body that ends after an outside cancel leaves late_completion_ignored, and nothing else', async () => {
    const app = await suite.boot([Scripted]);
    const one = held((ctx) => ctx.output({ late: true }));
    const run = await app.workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    await run.cancel();
    const { workflow_events: _, ...rows } = await allRows(sql);
    one.release();
    await eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the body has ended');
    expect((await trail(run)).slice(-2)).toEqual(['cancelled', 'late_completion_ignored']);
    const { workflow_events: __, ...after } = await allRows(sql);
    expect(after).toEqual(rows);
  });

  test('AMB-26 a stall reattempt counts for maxReattempts, and has itself no bound', async () => {
    const app = await suite.boot([Lenient], {
      worker: CLAIMS_NOTHING,
      stallThreshold: '30s',
      stallAction: 'reattempt',
    });
    const run = await app.workflows.start(Lenient);
    for (let time = 0; time < 4; time += 1) {
      await leaveInProgress(sql, run);
      await sweep(app);
    }
    expect((await run.reload()).status).toBe('ready');
    // The body's first failure, but the step's fifth attempt in a row: the one reattempt that its policy allows is spent.
    await suite.boot([Lenient]);
    await until(run, 'cancelled');
    expect(await attempts(run)).toEqual([
      ...[1, 2, 3, 4].map((attempt) => `only#${attempt} failed, reattempted: StepStalledError`),
      'only#5 failed, cancelled: RangeError',
    ]);
  });

  test('FAN-23 AMB-56 a member in progress for longer than stallThreshold is tried again, or dead-lettered once its attempts are spent', async () => {
    const app = await suite.boot([FansTolerant, Task], {
      worker: { queues: ['nobody', 'default'] },
      stallThreshold: '30s',
    });
    const starting = await app.workflows.start(
      FansTolerant,
      fanScript({
        fan: (ctx, batch) => {
          for (let n = 0; n < 3; n += 1) batch.add(Task, { script: ctx.args.script, n }, { queue: 'later' });
        },
      }),
    );
    await until(starting, 'waiting');
    // `Task` has two attempts: the second of 1 is lost, as is the first of 0.
    await leaveMembersInProgress(sql, starting, [0]);
    await leaveMembersInProgress(sql, starting, [1], 2);
    await sweep(app);
    expect(await membersOf(sql, starting)).toEqual(['fan 1 [0] scheduled', 'fan 1 [1] failed', 'fan 1 [2] scheduled']);
    const [dead] = await sql(
      `select error_class, job_attempt from workflow_steps where member_index = 1 and status = 'failed'`,
    );
    expect(dead).toMatchObject({ error_class: 'StepStalledError', job_attempt: 2 });
    // Its run's step is not stalled.
    expect(await trail(starting)).not.toContain('stall_detected');
    expect(app.reported).toEqual([]);

    await suite.boot([FansTolerant, Task], { worker: { queues: ['later'] } });
    await until(starting, 'finished');
    expect(await membersOf(sql, starting)).toEqual(['fan 1 [0] completed', 'fan 1 [1] failed', 'fan 1 [2] completed']);
    expect((await attempts(starting))[0]).toBe('fan#1 skipped: FanOutFailedError');
    const tries = await sql(`select job_attempt from workflow_steps where member_index = 0 and workflow_id = $1`, [
      starting.id,
    ]);
    expect(tries).toEqual([{ job_attempt: 2 }]);
  });

  test('FAN-23 the last member to be lost, its attempts spent, ends its batch', async () => {
    const app = await suite.boot([Fans, Task], { worker: { queues: ['default'] }, stallThreshold: '30s' });
    const run = await app.workflows.start(
      Fans,
      fanScript({ fan: (ctx, batch) => batch.add(Task, { script: ctx.args.script, n: 0 }, { queue: 'later' }) }),
    );
    await until(run, 'waiting');
    await leaveMembersInProgress(sql, run, [0], 2);
    await sweep(app);
    await until(run, 'paused');
    expect(await attempts(run)).toEqual(['fan#1 failed, paused: FanOutFailedError']);
    expect((await trail(run)).slice(-3)).toEqual(['fan_out_finished', 'step_failed', 'paused']);
  });
});
