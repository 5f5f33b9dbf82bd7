import {
  CancelIf,
  defineSignal,
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import { attempts } from './support/attempts';
import { fanning, fanScript, fanTrail, membersOf, Task } from './support/fan';
import { Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

const Paid = defineSignal<{ amount: number }>('paid');
const mailed: string[] = [];

@WorkflowJob()
class Mail implements JobHandler<{ to: string }> {
  async perform({ to }: { to: string }) {
    mailed.push(to);
  }
}

/** A bit of everything, as far as it needs no clock. */
@Workflow({ onException: { matching: RangeError, action: 'reattempt', maxReattempts: 3 } })
class Journey extends WorkflowOf<null, { amount: number }> {
  @CancelIf()
  unpaid({ args }: Ctx<this>) {
    return args.amount < 0;
  }

  @Step({ waitFor: Paid })
  async pay(ctx: Ctx<this, typeof Paid>) {
    if (ctx.attempt < 3) throw new RangeError('the gateway is away');
    ctx.output({ paid: ctx.receivedSignal.payload.amount });
  }

  @Step({ skipIf: () => true })
  async never() {}

  @FanOut()
  async tell(_ctx: Ctx<this>, batch: FanOutBatch) {
    for (const to of ['ann', 'bob']) batch.add(Mail, { to });
  }

  @Step({ transactional: true })
  async book(ctx: Ctx<this>) {
    const { paid } = (await ctx.outputOf('pay'))!;
    ctx.output({ booked: paid });
  }

  @Step({ waitFor: 'goods_back', waitTimeout: '30 days', onTimeout: 'run' })
  async close(ctx: Ctx<this>) {
    if (ctx.timedOut) ctx.pause();
    ctx.finish();
  }
}

@Workflow()
class Patient extends WorkflowOf {
  @Step({ wait: '7 days' })
  async late() {}

  @Step({ jobOptions: { wait: '2h', queue: 'nobody' } })
  async later(ctx: Ctx<this>) {
    if (ctx.attempt < 3) ctx.reattempt({ wait: '1d' });
  }
}

const Fans = fanning('Fans');

describe('test helpers', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  async function tester() {
    const app = await suite.boot([Journey, Mail, Patient, Scripted, Fans, Task], { worker: false });
    return { ...app, flows: createWorkflowTester(app.app) };
  }

  /** What a run has left behind, without ids and times. */
  async function left(run: WorkflowHandle) {
    const steps = await sql(
      `select step_name, attempt, status, outcome, queue, priority, claim_no, timed_out, wait_for, batch_size, output, error_class,
              error_message, started_at is null as never_started, finished_at is null as open, worker_id is null as nobodys
       from workflow_steps where workflow_id = $1 and member_index = -1 order by id`,
      [run.id],
    );
    const ids = (await sql<{ id: string }>('select id from workflow_steps where workflow_id = $1', [run.id])).map(
      ({ id }) => id,
    );
    const events = await sql(
      `select e.name, e.actor, e.reason, s.step_name, s.attempt, e.details::text as details from workflow_events e
       left join workflow_steps s on s.id = e.step_id where e.workflow_id = $1 order by e.id`,
      [run.id],
    );
    for (const event of events) {
      for (const id of ids) event.details = event.details?.replaceAll(`"${id}"`, '"batch"') ?? null;
      event.details = event.details?.replace(/"timeout_at":"[^"]*"/, '"timeout_at":"then"') ?? null;
    }
    const signals = await sql('select name, payload, status from workflow_signals where workflow_id = $1 order by id', [
      run.id,
    ]);
    const runs = await sql('select status, current_step, ended_at is null as ongoing from workflows where id = $1', [
      run.id,
    ]);
    return { steps, events, signals, runs };
  }

  test('TEST-01 rows and events are those that a worker would leave', async () => {
    const { workflows, flows, reported } = await tester();
    const byHand = await workflows.start(Journey, { args: { amount: 42 } });
    const unwanted = await workflows.start(Journey, { args: { amount: -1 } });
    await expect(flows.speedrun(byHand)).rejects.toThrow('waits at step "pay" for the signal "paid"');
    await flows.deliverSignal(byHand, Paid, { amount: 42 });
    await expect(flows.speedrun(byHand)).rejects.toThrow('waits at step "tell" for its batch of 2 jobs');
    await flows.completeFanOut(byHand);
    await expect(flows.speedrun(byHand)).rejects.toThrow('for the signal "goods_back"');
    await flows.expireWait(byHand);
    await flows.speedrun(byHand);
    await flows.speedrun(unwanted);
    expect(byHand.status).toBe('paused');
    expect(mailed).toEqual([]);

    const worked = await suite.boot([Journey, Mail], {});
    const byWorker = await worked.workflows.start(Journey, { args: { amount: 42 } });
    const refused = await worked.workflows.start(Journey, { args: { amount: -1 } });
    await until(byWorker, 'waiting');
    await byWorker.signal(Paid, { amount: 42 });
    await suite.eventually(
      async () => (await trail(byWorker)).filter((name) => name === 'step_waiting').length === 3,
      'it waits at the end',
    );
    await sql(
      `update workflow_steps set timeout_at = statement_timestamp() where workflow_id = $1 and status = 'waiting'`,
      [byWorker.id],
    );
    await until(byWorker, 'paused');
    await until(refused, 'cancelled');

    expect(await left(byHand)).toEqual(await left(byWorker));
    expect(await left(unwanted)).toEqual(await left(refused));
    expect(await attempts(byHand)).toEqual([
      'pay#1 failed, reattempted: RangeError',
      'pay#2 failed, reattempted: RangeError',
      'pay#3 completed',
      'never#1 skipped',
      'tell#1 completed',
      'book#1 completed',
      'close#1 completed, paused',
    ]);
    expect(reported.map(({ context }) => context.outcome)).toEqual(
      worked.reported.map(({ context }) => context.outcome),
    );
  });

  test('TEST-02 performNextStep runs one attempt, whatever its wait or its reattempt’s', async () => {
    const { workflows, flows } = await tester();
    const run = await workflows.start(Patient);
    expect(await flows.performNextStep(run)).toBe(run);
    expect(await attempts(run)).toEqual(['late#1 completed', 'later#1 scheduled']);
    await flows.performNextStep(run);
    const [, , again] = await run.steps();
    expect(again.availableAt!.getTime()).toBeGreaterThan(Date.now() + 80_000_000);
    await flows.performNextStep(run);
    await flows.performNextStep(run);
    expect(run.status).toBe('finished');
    expect(await attempts(run)).toEqual([
      'late#1 completed',
      'later#1 failed, reattempted',
      'later#2 failed, reattempted',
      'later#3 completed',
    ]);
  });

  test('TEST-02 an attempt that fails is an attempt: performNextStep reports as a worker does, and does not throw', async () => {
    const { workflows, flows, reported } = await tester();
    const boom = new Error('boom');
    const run = await workflows.start(Scripted, script({ one: () => Promise.reject(boom) }));
    await flows.performNextStep(run);
    expect(run.status).toBe('paused');
    expect(reported).toEqual([
      { error: boom, context: expect.objectContaining({ workflowId: run.id, outcome: 'paused' }) },
    ]);
  });

  test('TEST-03 runStepInline runs the step if it is next, otherwise it names the one that is and runs nothing', async () => {
    const { workflows, flows } = await tester();
    const ran: string[] = [];
    const body = ({ stepName }: { stepName: string }) => void ran.push(stepName);
    const run = await workflows.start(Scripted, script({ one: body, two: body, three: body }));
    await flows.runStepInline(run, 'one');
    const before = await trail(run);
    await expect(flows.runStepInline(run, 'three')).rejects.toThrow(/runStepInline\("three"\).* step "two" is next/);
    await expect(flows.runStepInline(run, 'one')).rejects.toThrow(/step "two" is next/);
    await expect(flows.runStepInline(run, 'nonsense')).rejects.toThrow(/step "two" is next/);
    expect(ran).toEqual(['one']);
    expect(await trail(run)).toEqual(before);
    await flows.runStepInline(run, 'two');
    await flows.runStepInline(run, 'three');
    expect(ran).toEqual(['one', 'two', 'three']);
    expect(run.status).toBe('finished');
  });

  test.each<[string, Parameters<typeof script>[0]]>([
    ['finished', {}],
    ['paused', { two: (ctx) => ctx.pause() }],
    ['cancelled', { two: (ctx) => ctx.cancel() }],
  ])('TEST-04 speedrun runs until the run is %s', async (status, bodies) => {
    const { workflows, flows } = await tester();
    const run = await workflows.start(Scripted, script(bodies));
    expect(await flows.speedrun(run)).toBe(run);
    expect(run.status).toBe(status);
    // On a run that is not ready it does nothing.
    const before = await trail(run);
    await flows.speedrun(run);
    expect(await trail(run)).toEqual(before);
  });

  test('TEST-05 completeFanOut completes every member without running it, ends the step and goes on', async () => {
    const { workflows, flows } = await tester();
    const performed: number[] = [];
    const run = await workflows.start(Fans, fanScript({ size: 4, task: (n) => performed.push(n) }));
    await flows.performNextStep(run);
    expect(run.status).toBe('waiting');
    expect(await flows.completeFanOut(run)).toBe(run);
    expect(run).toMatchObject({ status: 'ready', currentStep: 'after' });
    expect(await membersOf(sql, run)).toEqual([0, 1, 2, 3].map((n) => `fan 1 [${n}] completed`));
    expect(performed).toEqual([]);
    expect((await fanTrail(run)).slice(3)).toEqual([
      'fan_out_opened {"size":4}',
      'step_waiting',
      'fan_out_finished {"failed_jobs":0,"total_jobs":4}',
      'step_completed',
      'step_scheduled',
    ]);
    await flows.speedrun(run);
    expect(run.status).toBe('finished');
  });

  test('TEST-05 an empty batch needs no completing; a paused run’s batch can be completed, and is held', async () => {
    const { workflows, flows } = await tester();
    const empty = await workflows.start(Fans, fanScript({ size: 0 }));
    await flows.speedrun(empty);
    expect(empty.status).toBe('finished');
    const run = await workflows.start(Fans, fanScript({ size: 2 }));
    await flows.performNextStep(run);
    await run.pause();
    await flows.completeFanOut(run);
    expect(run.status).toBe('paused');
    expect(await attempts(run)).toEqual(['fan#1 completed', 'after#1 scheduled']);
    await run.resume();
    await flows.speedrun(run);
    expect(run.status).toBe('finished');
  });

  test('TEST-05 a batch of which members are gone fails as the callback would have it, and is reported', async () => {
    const { workflows, flows, reported } = await tester();
    const run = await workflows.start(Fans, fanScript({ size: 2 }));
    await flows.performNextStep(run);
    await sql('delete from workflow_steps where workflow_id = $1 and member_index = 1', [run.id]);
    await flows.completeFanOut(run);
    expect(run.status).toBe('paused');
    expect(reported.map(({ error }) => (error as Error).name)).toEqual(['FanOutFailedError']);
  });
});
