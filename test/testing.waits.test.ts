import {
  defineSignal,
  InvalidTransitionError,
  Step,
  StepWaitingError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type TimeoutAction,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { createWorkflowTester, type WorkflowTester } from 'nestjs-pg-workflows/testing';
import { attempts } from './support/attempts';
import { fanning, fanScript, fanTrail, Task } from './support/fan';
import { Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

const Shipped = defineSignal<{ at: string }>('shipped');
const seen: unknown[] = [];
/** What the callable deadline of `Moving` returns. */
let deadline: Date | string | null = null;

@Workflow()
class Ships extends WorkflowOf {
  @Step({ waitFor: Shipped })
  async note(ctx: Ctx<this, typeof Shipped>) {
    seen.push(ctx.receivedSignal.payload.at);
  }

  @Step()
  async after() {}
}

function expiring(onTimeout: TimeoutAction) {
  @Workflow({ name: `Expires_${onTimeout}` })
  class Expires extends WorkflowOf {
    @Step({ waitFor: 'answer', waitTimeout: '2 days', onTimeout })
    async ask(ctx: Ctx<this>) {
      seen.push(ctx.timedOut);
    }

    @Step()
    async after() {}
  }
  return Expires;
}

const ACTIONS = ['pause', 'cancel', 'skip', 'run', 'notify'] as const;
const Expires = Object.fromEntries(ACTIONS.map((action) => [action, expiring(action)])) as Record<
  TimeoutAction,
  ReturnType<typeof expiring>
>;

@Workflow()
class Moving extends WorkflowOf {
  @Step({ waitFor: 'answer', waitTimeout: () => deadline as '1d', onTimeout: 'notify' })
  async ask() {}
}

const Fans = fanning('Fans');

describe('test helpers and waits', () => {
  const suite = workflowSuite();
  const { sql, trail } = suite;

  async function tester() {
    const app = await suite.boot([Ships, Scripted, Fans, Task, Moving, ...Object.values(Expires)], { worker: false });
    return { ...app, flows: createWorkflowTester(app.app) };
  }

  async function parked(flows: WorkflowTester, run: WorkflowHandle): Promise<WorkflowHandle> {
    await flows.performNextStep(run);
    expect(run.status).toBe('waiting');
    return run;
  }

  const deadlineOf = async (run: WorkflowHandle): Promise<Date | null> =>
    (
      await sql<{ timeout_at: Date | null }>('select timeout_at from workflow_steps where workflow_id = $1', [run.id])
    )[0].timeout_at;

  test('TEST-04 speedrun at a wait throws StepWaitingError that names the signal, or the batch', async () => {
    const { workflows, flows } = await tester();
    const signal = await workflows.start(Ships);
    const batch = await workflows.start(Fans, fanScript({ size: 3 }));
    for (const [run, what] of [
      [signal, 'the signal "shipped"'],
      [batch, 'its batch of 3 jobs'],
    ] as const) {
      // The first call runs into the wait, the second finds it there.
      for (let call = 0; call < 2; call += 1) {
        const error: Error = await flows.speedrun(run).then(
          () => new Error('it ran through'),
          (thrown: Error) => thrown,
        );
        expect(error).toBeInstanceOf(StepWaitingError);
        expect(error.message).toContain(what);
        expect(error.message).toContain(run.id);
      }
    }
  });

  test('TEST-06 deliverSignal signals and runs the step that it woke', async () => {
    const { workflows, flows } = await tester();
    seen.length = 0;
    const run = await parked(flows, await workflows.start(Ships));
    expect(await flows.deliverSignal(run, Shipped, { at: 'noon' }, { actor: 'carrier' })).toBe(run);
    expect(seen).toEqual(['noon']);
    expect(run).toMatchObject({ status: 'ready', currentStep: 'after' });
    expect(await run.signals()).toMatchObject([{ name: 'shipped', status: 'consumed' }]);
    expect((await run.events()).find(({ name }) => name === 'signal_received')?.actor).toBe('carrier');
  });

  test('TEST-06 a signal that wakes nothing stays pending, and runs nothing', async () => {
    const { workflows, flows } = await tester();
    seen.length = 0;
    const waiting = await parked(flows, await workflows.start(Ships));
    await flows.deliverSignal(waiting, 'another');
    expect(waiting.status).toBe('waiting');
    const early = await workflows.start(Ships);
    await flows.deliverSignal(early, Shipped, { at: 'dawn' });
    expect(early).toMatchObject({ status: 'ready', currentStep: 'note' });
    const paused = await parked(flows, await workflows.start(Ships));
    await paused.pause();
    await flows.deliverSignal(paused, 'another');
    for (const run of [waiting, early, paused]) expect(await run.signals()).toMatchObject([{ status: 'pending' }]);
    expect(seen).toEqual([]);
    // It is there when the step is reached.
    await flows.speedrun(early);
    expect(seen).toEqual(['dawn']);
  });

  const ENDS: [TimeoutAction, string, string[]][] = [
    ['pause', 'paused', ['ask#1 failed, paused: WaitTimedOutError']],
    ['cancel', 'cancelled', ['ask#1 cancelled']],
    ['skip', 'ready', ['ask#1 skipped', 'after#1 scheduled']],
    ['run', 'ready', ['ask#1 scheduled']],
  ];

  test.each(ENDS)('TEST-07 expireWait applies %s long before the deadline', async (action, status, rows) => {
    const { workflows, flows, reported } = await tester();
    seen.length = 0;
    const run = await parked(flows, await workflows.start(Expires[action]));
    expect((await deadlineOf(run))!.getTime()).toBeGreaterThan(Date.now() + 86_400_000);
    expect(await flows.expireWait(run)).toBe(run);
    expect(run.status).toBe(status);
    expect(await attempts(run)).toEqual(rows);
    expect((await run.events()).find(({ name }) => name === 'wait_timed_out')).toMatchObject({
      actor: 'system',
      details: { wait_for: 'answer', action, timeout_at: expect.any(String) },
    });
    expect(reported).toHaveLength(action === 'pause' ? 1 : 0);
    await flows.speedrun(run);
    expect(seen).toEqual(action === 'run' ? [true] : []);
  });

  test('TEST-07 expireWait also with no deadline: the default pauses', async () => {
    const { workflows, flows } = await tester();
    const run = await parked(flows, await workflows.start(Ships));
    expect(await deadlineOf(run)).toBeNull();
    await flows.expireWait(run);
    expect(run.status).toBe('paused');
    const [row] = await run.steps();
    expect(row.error).toMatchObject({ class: 'WaitTimedOutError', message: expect.not.stringContaining('null') });
    await run.resume();
    expect(run.status).toBe('ready');
  });

  test('TEST-08 under notify the step stays waiting, the event is written, and timeout_at has moved by the period', async () => {
    const { workflows, flows } = await tester();
    const run = await parked(flows, await workflows.start(Expires.notify));
    for (const times of [1, 2, 3]) {
      const before = (await deadlineOf(run))!;
      await flows.expireWait(run);
      expect(run.status).toBe('waiting');
      expect((await trail(run)).filter((name) => name === 'wait_timed_out')).toHaveLength(times);
      expect((await deadlineOf(run))!.getTime() - before.getTime()).toBe(2 * 86_400_000);
    }
    await flows.deliverSignal(run, 'answer');
    expect(await attempts(run)).toEqual(['ask#1 completed', 'after#1 scheduled']);
  });

  test('TEST-08 under notify a callable’s date moves the deadline there; one that is no later is none', async () => {
    const { workflows, flows } = await tester();
    deadline = new Date(Date.now() + 3_600_000);
    const run = await parked(flows, await workflows.start(Moving));
    expect(await deadlineOf(run)).toEqual(deadline);
    deadline = new Date(deadline.getTime() + 60_000);
    await flows.expireWait(run);
    expect(await deadlineOf(run)).toEqual(deadline);
    await flows.expireWait(run);
    expect(await deadlineOf(run)).toBeNull();
    deadline = '1d';
    await flows.expireWait(run);
    expect((await deadlineOf(run))!.getTime()).toBeGreaterThan(Date.now() + 80_000_000);
    deadline = null;
    await flows.expireWait(run);
    expect(await deadlineOf(run)).toBeNull();
    expect((await trail(run)).filter((name) => name === 'wait_timed_out')).toHaveLength(4);
    expect(run.status).toBe('waiting');
  });

  test('TEST-09 a helper on a run that it does not fit throws, says what the run is doing, and changes nothing', async () => {
    const { workflows, flows } = await tester();
    const ready = await workflows.start(Scripted, script({}));
    const paused = await workflows.start(Scripted, script({}));
    await paused.pause();
    const finished = await flows.speedrun(await workflows.start(Scripted, script({})));
    const cancelled = await workflows.start(Scripted, script({}));
    await cancelled.cancel();
    const onSignal = await parked(flows, await workflows.start(Ships));
    const onBatch = await parked(flows, await workflows.start(Fans, fanScript({ size: 2 })));
    const pausedWait = await parked(flows, await workflows.start(Ships));
    await pausedWait.pause();

    const next = (run: WorkflowHandle) => flows.performNextStep(run);
    const inline = (run: WorkflowHandle) => flows.runStepInline(run, 'one');
    const complete = (run: WorkflowHandle) => flows.completeFanOut(run);
    const expire = (run: WorkflowHandle) => flows.expireWait(run);
    const WRONG: [WorkflowHandle, RegExp, ((run: WorkflowHandle) => Promise<unknown>)[]][] = [
      [ready, /is ready, and step "one" is next/, [complete, expire]],
      [paused, /is paused at step "one"/, [next, inline, complete, expire]],
      [finished, /is finished/, [next, inline, complete, expire]],
      [cancelled, /is cancelled/, [next, inline, complete, expire]],
      [onSignal, /waits at step "note" for the signal "shipped"/, [next, inline, complete]],
      [onBatch, /waits at step "fan" for its batch of 2 jobs/, [next, inline, expire]],
      [pausedWait, /is paused at step "note"/, [next, inline, complete, expire]],
    ];
    for (const [run, message, helpers] of WRONG) {
      const before = await fanTrail(run);
      for (const helper of helpers) {
        const error: Error = await helper(run).then(
          () => new Error('it fitted'),
          (thrown: Error) => thrown,
        );
        expect(error).toBeInstanceOf(InvalidTransitionError);
        expect(error.message).toMatch(message);
        expect(error.message).toContain(run.id);
        expect(error).toMatchObject({ status: run.status, allowed: run.availableActions });
      }
      expect(await fanTrail(run)).toEqual(before);
    }
  });
});
