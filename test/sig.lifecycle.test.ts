import {
  FanOut,
  FanOutBatch,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type SignalMatcher,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { newestRow } from './support/rows';
import { Paid, Signalled, signalScript, signalsOf, type SignalScript } from './support/signalled';
import { gate, workflowSuite } from './support/suite';

const received: unknown[] = [];

@Workflow()
class Transactional extends WorkflowOf {
  @Step({ waitFor: Paid, transactional: true })
  async pay(ctx: Ctx<this, typeof Paid>) {
    received.push(ctx.receivedSignal.payload.amount);
    if (ctx.attempt === 1) throw new Error('rolled back');
  }
}

/** No guards: its steps are settled in sets. */
@Workflow()
class Plain extends WorkflowOf {
  @Step({ waitFor: 'first' })
  async first() {}

  @Step()
  async between() {}

  @Step({ waitFor: 'second' })
  async second() {}
}

const matchedBy: string[] = [];

/** Takes any signal, and notes that it was asked. */
const anyFor = (step: string): SignalMatcher => ({ matches: ({ name }) => matchedBy.push(`${step} ${name}`) > 0 });

/** Both steps that wait would take the same signal. */
@Workflow()
class TwoWaits extends WorkflowOf {
  static fail = true;

  @Step({ waitFor: anyFor('one') })
  async one(ctx: Ctx<this, any>) {
    received.push(`one ${ctx.receivedSignal.name}`);
    if (TwoWaits.fail) throw new Error('keeps it');
  }

  @Step()
  async between() {}

  @Step({ waitFor: anyFor('two') })
  async two(ctx: Ctx<this, any>) {
    received.push(`two ${ctx.receivedSignal.name}`);
  }

  @Step()
  async end(ctx: Ctx<this>) {
    if (ctx.attempt === 1) ctx.pause();
  }
}

/** A release in which `pay` waits, and a later one in which it fans out. */
@Workflow({ name: 'Redeployed' })
class Before extends WorkflowOf {
  @Step({ waitFor: Paid })
  async pay() {
    throw new Error('keeps its signal');
  }
}

@WorkflowJob()
class HeldJob {
  static released = gate();
  async perform() {
    await HeldJob.released.opened;
  }
}

@Workflow({ name: 'Redeployed' })
class After extends WorkflowOf {
  @FanOut()
  async pay(_ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(HeldJob, {});
  }
}

describe('what becomes of a signal', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = () => suite.boot([Signalled, Plain, Transactional, TwoWaits]);
  const fail = () => {
    throw new Error('fails');
  };

  beforeEach(() => {
    received.length = 0;
    matchedBy.length = 0;
    TwoWaits.fail = true;
  });

  const startWaiting = async (script: SignalScript = {}): Promise<WorkflowHandle> => {
    const { workflows } = await boot();
    const run = await workflows.start(Signalled, signalScript(script));
    await until(run, 'waiting');
    return run;
  };

  describe('SIG-09 it is consumed when its step ends', () => {
    const ENDS: [string, SignalScript, string][] = [
      ['by returning', {}, 'completed'],
      ['by skip()', { pay: (ctx) => ctx.skip() }, 'skipped'],
      ['by finish()', { pay: (ctx) => ctx.finish() }, 'completed, finished'],
      ['by pause()', { pay: (ctx) => ctx.pause() }, 'completed, paused'],
      ['by cancel()', { pay: (ctx) => ctx.cancel() }, 'cancelled'],
      ['by a skip guard', { skipIf: (ctx) => ctx.woken }, 'skipped'],
      ['by a cancel guard', { cancelIf: (ctx) => ctx.woken }, 'cancelled'],
      [
        "by a policy's skip",
        { pay: () => Promise.reject(new RangeError('no')), handler: (ctx) => ctx.skip() },
        'skipped: RangeError',
      ],
      [
        "by a policy's cancel",
        { pay: () => Promise.reject(new RangeError('no')), handler: (ctx) => ctx.cancel() },
        'failed, cancelled: RangeError',
      ],
    ];

    test.each(ENDS)('SIG-09 SIG-27 %s', async (_how, script, ended) => {
      const run = await startWaiting(script);
      await run.signal(Paid);
      await until(run, 'finished', 'cancelled', 'paused');
      expect((await attempts(run))[1]).toBe(`pay#1 ${ended}`);
      expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1']);
      const [times] = await sql(
        'select claimed_at between created_at and consumed_at as ok from workflow_signals where workflow_id = $1',
        [run.id],
      );
      expect(times.ok).toBe(true);
      if ((await run.reload()).status === 'paused') await run.cancel();
    });

    test('SIG-09 by returning, in a run without guards that goes on, and at its last step', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(Plain);
      await until(run, 'waiting');
      await run.signal('first');
      await suite.eventually(async () => (await attempts(run)).includes('second#1 waiting'), 'it waits again');
      expect(await signalsOf(sql, run)).toEqual(['first consumed by first#1']);
      await run.signal('second');
      await until(run, 'finished');
      expect(await signalsOf(sql, run)).toEqual(['first consumed by first#1', 'second consumed by second#1']);
    });

    test('SIG-09 by an outside cancel: while its body runs, scheduled again, and under a pause', async () => {
      const reached = gate();
      const released = gate();
      const running = await startWaiting({
        pay: async () => {
          reached.open();
          await released.opened;
        },
      });
      await running.signal(Paid);
      await reached.opened;
      expect(await signalsOf(sql, running)).toEqual(['paid claimed by pay#1']);
      await running.cancel();
      released.open();
      await suite.eventually(async () => (await trail(running)).includes('late_completion_ignored'), 'the body ended');

      const again = await startWaiting({ pay: (ctx) => ctx.reattempt({ wait: '1 hour' }) });
      await again.signal(Paid);
      await suite.eventually(async () => (await attempts(again)).includes('pay#2 scheduled'), 'it is reattempted');
      await again.cancel();

      const paused = await startWaiting();
      await paused.pause();
      await paused.signal(Paid);
      await paused.cancel();

      const lines = await Promise.all([running, again, paused].map((run) => signalsOf(sql, run)));
      expect(lines).toEqual(Array.from({ length: 3 }, () => ['paid consumed by pay#1']));
    });
  });

  test('SIG-10 it stays claimed after a reattempt and after a failure that pauses; the next attempts have that very signal', async () => {
    const seen: unknown[] = [];
    const bothSent = gate();
    const run = await startWaiting({
      pay: async (ctx) => {
        await bothSent.opened;
        seen.push([ctx.attempt, ctx.receivedSignal.payload.amount, await signalsOf(sql, { id: ctx.workflowId })]);
        if (ctx.attempt === 1) ctx.reattempt();
        if (ctx.attempt === 2 || ctx.attempt === 3) fail();
      },
    });
    await run.signal(Paid, { amount: 1 });
    await run.signal(Paid, { amount: 2 });
    bothSent.open();
    await until(run, 'paused');
    expect(await signalsOf(sql, run)).toEqual(['paid claimed by pay#2', 'paid pending']);
    await run.resume();
    await suite.eventually(
      async () => (await attempts(run)).includes('pay#3 failed, paused: Error'),
      'it failed again',
    );
    await run.resumeAt('pay');
    await until(run, 'finished');
    expect(seen).toEqual(
      [1, 2, 3, 4].map((attempt) => [attempt, 1, [`paid claimed by pay#${attempt}`, 'paid pending']]),
    );
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#4', 'paid pending']);
    const names = await trail(run);
    // It parked and took its signal once.
    expect(names.filter((name) => name === 'signal_claimed' || name === 'step_waiting')).toEqual([
      'step_waiting',
      'signal_claimed',
    ]);
  });

  test('SIG-10 a step that completed has no signal left: resumeAt waits for a new one', async () => {
    const run = await startWaiting({ last: (ctx) => void (ctx.attempt === 1 && ctx.pause()) });
    await run.signal(Paid, { amount: 1 });
    await until(run, 'paused');
    await run.resumeAt('pay');
    await until(run, 'waiting');
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1']);
    await run.signal(Paid, { amount: 2 });
    await until(run, 'finished');
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1', 'paid consumed by pay#2']);
  });

  test('SIG-10 a transactional step that is rolled back keeps its signal too', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Transactional);
    await run.signal(Paid, { amount: 9 });
    await until(run, 'paused');
    expect(await signalsOf(sql, run)).toEqual(['paid claimed by pay#1']);
    await run.resume();
    await until(run, 'finished');
    expect(received).toEqual([9, 9]);
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#2']);
  });

  describe('resumeAt while another step holds a signal', () => {
    /** Paused; `one` failed, and holds `a`. */
    const startHeld = async () => {
      const { workflows } = await boot();
      const run = await workflows.start(TwoWaits);
      await until(run, 'waiting');
      await run.signal('a');
      await until(run, 'paused');
      expect(await signalsOf(sql, run)).toEqual(['a claimed by one#1']);
      return run;
    };

    test('OPS-08 SIG-10 SIG-27 it stays claimed: no other step takes it, and that step has it when it runs again', async () => {
      const run = await startHeld();
      await run.resumeAt('between');
      await until(run, 'waiting');
      expect(await signalsOf(sql, run)).toEqual(['a claimed by one#1']);
      expect(matchedBy).toEqual(['one a']);
      await run.pause();
      TwoWaits.fail = false;
      await run.resumeAt('one');
      await until(run, 'waiting');
      expect(await signalsOf(sql, run)).toEqual(['a consumed by one#2']);
      // Its matcher was not asked again, and `two` never was.
      expect(matchedBy).toEqual(['one a']);
      expect(received).toEqual(['one a', 'one a']);
      await run.cancel();
    });

    test('OPS-08 SIG-09 it is consumed when the run ends: by its last step, by resume, by cancel', async () => {
      const finished = await startHeld();
      await finished.resumeAt('end');
      await suite.eventually(async () => (await attempts(finished)).includes('end#1 completed, paused'), 'it paused');
      expect(await signalsOf(sql, finished)).toEqual(['a claimed by one#1']);
      await finished.resumeAt('end');
      await until(finished, 'finished');

      const resumed = await startHeld();
      await resumed.resumeAt('end');
      await suite.eventually(async () => (await attempts(resumed)).includes('end#1 completed, paused'), 'it paused');
      // Its last step is over: resume ends it.
      await resumed.resume();
      expect(resumed.status).toBe('finished');

      const cancelled = await startHeld();
      await cancelled.resumeAt('between');
      await until(cancelled, 'waiting');
      await cancelled.cancel();

      const lines = await Promise.all([finished, resumed, cancelled].map((run) => signalsOf(sql, run)));
      expect(lines).toEqual(Array.from({ length: 3 }, () => ['a consumed by one#1']));
    });
  });

  test('SIG-19 a paused run takes it for its waiting step, stays paused and runs nothing; resume runs the step', async () => {
    const seen: unknown[] = [];
    const run = await startWaiting({ pay: (ctx) => void seen.push([ctx.receivedSignal.payload.amount, ctx.woken]) });
    await run.pause();
    expect((await run.signal('other')).status).toBe('pending');
    expect(await newestRow(sql, run)).toMatchObject({ status: 'waiting' });
    const signal = await run.signal(Paid, { amount: 3 });
    expect(signal.status).toBe('claimed');
    expect(run.status).toBe('paused');
    expect(await newestRow(sql, run)).toMatchObject({ status: 'scheduled', attempt: 1, available_at: null });
    expect((await run.signal(Paid, { amount: 4 })).status).toBe('pending');
    // The worker goes on with another run, and leaves this one.
    const { workflows } = await boot();
    await until(await workflows.start(Signalled, signalScript({ skipIf: () => true })), 'finished');
    expect(seen).toEqual([]);
    await run.resume();
    expect(run.status).toBe('ready');
    await until(run, 'finished');
    expect(seen).toEqual([[3, true]]);
    expect((await attempts(run))[1]).toBe('pay#1 completed');
    expect((await trail(run)).slice(5, 13)).toEqual([
      'step_waiting',
      'paused',
      'signal_received',
      'signal_received',
      'signal_claimed',
      'signal_received',
      'resumed',
      'step_started',
    ]);
  });

  test('SIG-19 a paused run whose step does not wait keeps it pending', async () => {
    const run = await startWaiting({ pay: fail });
    await run.signal(Paid);
    await until(run, 'paused');
    expect((await run.signal(Paid)).status).toBe('pending');
    expect(run.status).toBe('paused');
    expect(await newestRow(sql, run)).toMatchObject({ status: 'failed' });
    await run.cancel();
  });

  describe('SIG-27 what passes over a step takes no pending signal', () => {
    const again = (seen: unknown[]) => ({
      again: (ctx: StepContext) => void seen.push(ctx.receivedSignal.payload.amount),
    });

    test('SIG-27 a skip guard: a later step that fits takes it', async () => {
      const seen: unknown[] = [];
      const { workflows } = await suite.boot([Signalled], { worker: false });
      const run = await workflows.start(Signalled, signalScript({ skipIf: () => true, ...again(seen) }));
      await run.signal(Paid, { amount: 1 });
      await boot();
      await until(run, 'finished');
      expect(seen).toEqual([1]);
      expect(await signalsOf(sql, run)).toEqual(['paid consumed by again#1']);
    });

    test('SIG-27 a cancel guard', async () => {
      const { workflows } = await suite.boot([Signalled], { worker: false });
      const run = await workflows.start(Signalled, signalScript({ cancelIf: (ctx) => ctx.stepName === 'pay' }));
      await run.signal(Paid);
      await boot();
      await until(run, 'cancelled');
      expect(await signalsOf(sql, run)).toEqual(['paid pending']);
    });

    test('SIG-27 an outside skip: what did not fit the skipped step is there for a later one', async () => {
      const { workflows } = await boot();
      let fits = false;
      const run = await workflows.start(Signalled, signalScript({ again: () => undefined, skipIf: () => fits }));
      await until(run, 'waiting');
      await run.signal('unfitting');
      fits = true;
      await run.skip();
      await until(run, 'waiting');
      expect(await newestRow(sql, run)).toMatchObject({ step_name: 'again' });
      expect(await signalsOf(sql, run)).toEqual(['unfitting pending']);
      await run.cancel();
      expect(await signalsOf(sql, run)).toEqual(['unfitting pending']);
    });

    test('SIG-27 OPS-13 an outside skip uses up what the step holds, even after a deploy made it a fan-out', async () => {
      HeldJob.released = gate();
      const before = await suite.boot([Before]);
      const started = await before.workflows.start(Before);
      await started.signal(Paid);
      await until(started, 'paused');
      await before.close();
      const { workflows } = await suite.boot([After, HeldJob]);
      const run = await workflows.find(started.id);
      await run.resume();
      await until(run, 'waiting');
      expect(await signalsOf(sql, run)).toEqual(['paid claimed by pay#1']);
      await run.skip();
      expect(run.status).toBe('finished');
      expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1']);
      HeldJob.released.open();
    });
  });

  test('SIG-28 a pending signal of a run that ends stays pending, and is deleted with its run', async () => {
    const finished = await startWaiting();
    await finished.signal('never');
    await finished.signal(Paid);
    await until(finished, 'finished');
    expect(await signalsOf(sql, finished)).toEqual(['never pending', 'paid consumed by pay#1']);
    const cancelled = await startWaiting();
    await cancelled.signal('never');
    await cancelled.cancel();
    expect(await signalsOf(sql, cancelled)).toEqual(['never pending']);
    for (const run of [finished, cancelled]) {
      await sql('delete from workflows where id = $1', [run.id]);
      await sql('delete from workflow_events where workflow_id = $1', [run.id]);
      expect(await sql('select id from workflow_signals where workflow_id = $1', [run.id])).toEqual([]);
    }
  });
});
