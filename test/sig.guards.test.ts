import { NotInStepError, Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { Paid, Signalled, signalScript, signalsOf, type SignalScript } from './support/signalled';
import { held } from './support/scripted';
import { workflowSuite } from './support/suite';

@Workflow()
class TimesOut extends WorkflowOf {
  static readonly seen: unknown[] = [];

  @Step({ waitFor: Paid, waitTimeout: 1, onTimeout: 'run', skipIf: 'look' })
  async pay(ctx: Ctx<this, typeof Paid>) {
    await this.look(ctx);
    TimesOut.seen.push(ctx.receivedSignal);
    // Its next attempt parks anew, and takes what is pending by then.
    if (ctx.timedOut) ctx.reattempt();
  }

  async look(ctx: Ctx<this, any>) {
    // It parked once: the signal comes while the woken row is being claimed, too late to be taken.
    if (ctx.timedOut) await TimesOut.signal?.();
    TimesOut.seen.push([ctx.attempt, ctx.timedOut, ctx.woken, await ctx.signalReady()]);
  }

  static signal: (() => Promise<unknown>) | undefined;
}

describe('signalReady and woken', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const boot = () => suite.boot([Signalled, TimesOut]);

  /** Notes both answers wherever they are asked for: in `pay` and its guards. */
  const looking = (seen: unknown[], also: SignalScript = {}): SignalScript => {
    const look = (place: string) => async (ctx: StepContext) => {
      if (ctx.stepName !== 'pay') return;
      seen.push(`${place}#${ctx.attempt} woken ${ctx.woken} ready ${await ctx.signalReady()}`);
    };
    return {
      ...also,
      cancelIf: look('cancelIf'),
      skipIf: async (ctx) => {
        await look('skipIf')(ctx);
        return also.skipIf?.(ctx);
      },
      pay: async (ctx) => {
        await look('body')(ctx);
        await also.pay?.(ctx);
      },
    };
  };
  /** A run that got its signal before its step. */
  const startBuffered = async (script: SignalScript) => {
    const first = held();
    const { workflows } = await boot();
    const run = await workflows.start(Signalled, signalScript({ ...script, first: first.body }));
    await first.reached;
    await run.signal(Paid, { amount: 1 });
    first.release();
    return run;
  };
  const startWaiting = async (script: SignalScript) => {
    const { workflows } = await boot();
    const run = await workflows.start(Signalled, signalScript(script));
    await until(run, 'waiting');
    return run;
  };

  test('SIG-20 SIG-21 SIG-22 with a fitting signal pending: ready, but not woken, in guards and body alike', async () => {
    const seen: string[] = [];
    const run = await startBuffered(looking(seen));
    await until(run, 'finished');
    expect(seen).toEqual([
      'cancelIf#1 woken false ready true',
      'skipIf#1 woken false ready true',
      'body#1 woken false ready true',
    ]);
  });

  test('SIG-20 asking claims nothing: a step that is then skipped leaves its signal pending', async () => {
    const run = await startBuffered({ skipIf: (ctx) => ctx.signalReady() });
    await until(run, 'finished');
    expect(await attempts(run)).toContain('pay#1 skipped');
    expect(await signalsOf(sql, run)).toEqual(['paid pending']);
  });

  test('SIG-20 SIG-21 nothing there: neither; then the signal wakes it: both, in its guards and its body', async () => {
    const seen: string[] = [];
    const run = await startWaiting(looking(seen));
    await run.signal('other');
    await run.signal(Paid);
    await until(run, 'finished');
    expect(seen).toEqual([
      'cancelIf#1 woken false ready false',
      'skipIf#1 woken false ready false',
      'cancelIf#1 woken true ready true',
      'skipIf#1 woken true ready true',
      'body#1 woken true ready true',
    ]);
  });

  test('SIG-21 SIG-22 an attempt after one that took its signal is woken, even if that one was not', async () => {
    const seen: string[] = [];
    const run = await startBuffered(
      looking(seen, {
        pay: (ctx) => {
          if (ctx.attempt === 1) ctx.reattempt();
          if (ctx.attempt === 2) throw new Error('pause');
        },
      }),
    );
    await until(run, 'paused');
    await run.resume();
    await until(run, 'finished');
    expect(seen.filter((line) => line.startsWith('body'))).toEqual([
      'body#1 woken false ready true',
      'body#2 woken true ready true',
      'body#3 woken true ready true',
    ]);
    expect(seen.filter((line) => line.startsWith('skipIf#2'))).toEqual(['skipIf#2 woken true ready true']);
  });

  test('SIG-21 in guards a signal held already is receivedSignal, one that is only pending is not yet', async () => {
    const seen: unknown[] = [];
    const look = { skipIf: (ctx: StepContext) => void seen.push(ctx.receivedSignal?.payload.amount ?? null) };
    await until(await startBuffered(look), 'finished');
    expect(seen.splice(0)).toEqual([null]);
    const woken = await startWaiting(look);
    await woken.signal(Paid, { amount: 2 });
    await until(woken, 'finished');
    expect(seen).toEqual([null, 2]);
  });

  test('SIG-22 a signal that comes during the body flips no answer', async () => {
    const seen: unknown[] = [];
    const pay = held();
    const answers = async (ctx: StepContext) => [
      ctx.woken,
      await ctx.signalReady(),
      ctx.receivedSignal?.payload.amount,
    ];
    const run = await startBuffered({
      pay: async (ctx) => {
        seen.push(await answers(ctx));
        await pay.body(ctx);
        seen.push(await answers(ctx));
      },
    });
    await pay.reached;
    await run.signal(Paid, { amount: 2 });
    pay.release();
    await until(run, 'finished');
    expect(seen).toEqual([
      [false, true, 1],
      [false, true, 1],
    ]);
  });

  test('SIG-22 a signal that comes between the guard and the gate waits for the lock, and then wakes the row', async () => {
    const seen: unknown[] = [];
    const { workflows } = await boot();
    let sent: Promise<unknown> | undefined;
    const run = await workflows.start(
      Signalled,
      signalScript({
        skipIf: async (ctx) => {
          sent ??= workflows.find(ctx.workflowId).then((same) => same.signal(Paid, { amount: 1 }));
          await suite.eventually(async () => {
            const [{ count }] = await sql(`select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'
              and datname = current_database()`);
            return count > 0 || ctx.woken;
          }, 'the signal waits for the lock');
          seen.push(await ctx.signalReady());
        },
      }),
    );
    await until(run, 'finished');
    await expect(sent).resolves.toMatchObject({ status: 'claimed' });
    expect(seen).toEqual([false, true]);
  });

  test('SIG-23 both are false after a deadline woke the row, even with a fitting signal pending by then', async () => {
    TimesOut.seen.length = 0;
    const { workflows } = await boot();
    const run = await workflows.start(TimesOut);
    let sent = false;
    TimesOut.signal = async () => {
      if (sent) return;
      sent = true;
      // Beside the guard's lock, as plain rows: a delivery would wait for it.
      await sql(`insert into workflow_signals (workflow_id, name, payload) values ($1, 'paid', '{"amount": 5}')`, [
        run.id,
      ]);
    };
    await until(run, 'finished');
    TimesOut.signal = undefined;
    expect(TimesOut.seen).toEqual([
      // The guard on its way to the park, then after the deadline, then the body.
      [1, false, false, false],
      [1, true, false, false],
      [1, true, false, false],
      null,
      // The next attempt takes what was pending.
      [2, false, false, true],
      [2, false, false, true],
      { name: 'paid', payload: { amount: 5 } },
    ]);
    expect(await attempts(run)).toEqual(['pay#1 failed, reattempted', 'pay#2 completed']);
  });

  test('SIG-23 both are false in a step without waitFor, and NotInStepError once the attempt has ended', async () => {
    const seen: unknown[] = [];
    let kept: StepContext | undefined;
    const run = await startBuffered({
      last: async (ctx) => seen.push([ctx.woken, await ctx.signalReady()]),
      pay: (ctx) => {
        kept = ctx;
        // The signal would fit `last`, if that waited for one.
        return sql(`insert into workflow_signals (workflow_id, name, payload) values ($1, 'paid', '{}')`, [
          ctx.workflowId,
        ]);
      },
    });
    await until(run, 'finished');
    expect(seen).toEqual([[false, false]]);
    expect(() => kept!.woken).toThrow(NotInStepError);
    expect(() => kept!.timedOut).toThrow(NotInStepError);
    expect(() => kept!.receivedSignal).toThrow(NotInStepError);
    await expect(kept!.signalReady()).rejects.toThrow(NotInStepError);
  });

  describe('skipIf with a subject that has passed', () => {
    let passed = false;
    beforeEach(() => void (passed = false));
    const unlessReady = { skipIf: async (ctx: StepContext) => passed && !(await ctx.signalReady()) };
    const unlessWoken = { skipIf: (ctx: StepContext) => passed && !ctx.woken };
    const always = { skipIf: () => passed };

    test('SIG-24 unless signalReady: it is skipped only with nothing held and nothing fitting pending', async () => {
      passed = true;
      const { workflows } = await boot();
      const none = await workflows.start(Signalled, signalScript(unlessReady));
      await none.signal('other');
      await until(none, 'finished');
      expect(await attempts(none)).toContain('pay#1 skipped');

      const early = await startBuffered(unlessReady);
      await until(early, 'finished');
      expect(await attempts(early)).toContain('pay#1 completed');
      expect(await signalsOf(sql, early)).toEqual(['paid consumed by pay#1']);

      passed = false;
      const woken = await startWaiting(unlessReady);
      passed = true;
      await woken.signal(Paid);
      await until(woken, 'finished');
      expect(await attempts(woken)).toContain('pay#1 completed');
      expect(await signalsOf(sql, woken)).toEqual(['paid consumed by pay#1']);
    });

    test('SIG-25 unless woken: on a first claim with a buffered signal it is skipped and that stays pending', async () => {
      passed = true;
      const early = await startBuffered(unlessWoken);
      await until(early, 'finished');
      expect(await attempts(early)).toContain('pay#1 skipped');
      expect(await signalsOf(sql, early)).toEqual(['paid pending']);

      passed = false;
      const woken = await startWaiting(unlessWoken);
      passed = true;
      await woken.signal(Paid);
      await until(woken, 'finished');
      expect(await attempts(woken)).toContain('pay#1 completed');
    });

    test('SIG-26 alone: a step woken after the subject passed is skipped, its signal used up; a buffered one stays', async () => {
      const bodies: string[] = [];
      const script = { ...always, pay: () => void bodies.push('ran') };
      const woken = await startWaiting(script);
      passed = true;
      await woken.signal(Paid);
      await until(woken, 'finished');
      expect(await attempts(woken)).toContain('pay#1 skipped');
      expect(await signalsOf(sql, woken)).toEqual(['paid consumed by pay#1']);

      const early = await startBuffered(script);
      await until(early, 'finished');
      expect(await attempts(early)).toContain('pay#1 skipped');
      expect(await signalsOf(sql, early)).toEqual(['paid pending']);
      expect(bodies).toEqual([]);
    });
  });
});
