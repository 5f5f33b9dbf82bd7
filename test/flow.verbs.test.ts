import { randomUUID } from 'node:crypto';
import {
  currentStep,
  NotInStepError,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { gate, workflowSuite } from './support/suite';

type Body = (ctx: StepContext) => unknown;

const bodies = new Map<string, Partial<Record<'one' | 'two', Body>>>();
let policiesAsked = 0;

/** What its bodies do is said by each test. */
@Workflow({
  onException: { action: 'reattempt', maxReattempts: 1, wait: () => (policiesAsked += 1), terminalAction: 'cancel' },
})
class Verbs extends WorkflowOf<null, { key: string }> {
  @Step()
  async one(ctx: Ctx<this>) {
    return bodies.get(ctx.args.key)!.one?.(ctx);
  }

  @Step()
  async two(ctx: Ctx<this>) {
    return bodies.get(ctx.args.key)!.two?.(ctx);
  }
}

function start(workflows: WorkflowService, script: Partial<Record<'one' | 'two', Body>>) {
  const key = randomUUID();
  bodies.set(key, script);
  return workflows.start(Verbs, { args: { key } });
}

describe('verbs in a body', () => {
  const suite = workflowSuite();
  const boot = () => suite.boot([Verbs]);

  const VERBS: [string, Body, string][] = [
    ['pause', (ctx) => ctx.pause(), 'paused'],
    ['cancel', (ctx) => ctx.cancel(), 'cancelled'],
    ['reattempt', (ctx) => (ctx.attempt === 1 ? ctx.reattempt() : ctx.finish()), 'finished'],
    ['skip', (ctx) => ctx.skip(), 'finished'],
    ['finish', (ctx) => ctx.finish(), 'finished'],
  ];

  test.each(VERBS)('FLOW-07 %s ends the body where it stands, and is no exception', async (_, verb, status) => {
    const { workflows, reported } = await boot();
    policiesAsked = 0;
    let behind = false;
    const run = await start(workflows, {
      one: (ctx) => {
        verb(ctx);
        behind = true;
      },
    });
    await suite.until(run, status as 'paused');
    expect(behind).toBe(false);
    expect((await run.steps()).map(({ error }) => error)).not.toContainEqual(expect.anything());
    expect(reported).toEqual([]);
    expect(policiesAsked).toBe(0);
    const acts = (await run.events()).slice(1).map(({ actor }) => actor);
    expect(new Set(acts.slice(1))).toEqual(new Set(['system']));
  });

  test.each(VERBS)(
    'FLOW-15 %s holds although the body swallows it, and calls other verbs after it',
    async (_, verb, status) => {
      const { workflows, reported } = await boot();
      const run = await start(workflows, {
        one: async (ctx) => {
          for (const one of [
            verb,
            (c: StepContext) => c.cancel(),
            (c: StepContext) => c.reattempt({ wait: '1 day' }),
          ]) {
            try {
              await one(ctx);
            } catch {
              // As an application's catch-all would.
            }
          }
          throw new Error('thrown after the verb: the first one called wins');
        },
      });
      await suite.until(run, status as 'paused');
      expect((await run.steps()).map(({ error }) => error)).not.toContainEqual(expect.anything());
      expect(reported).toEqual([]);
      expect((await suite.trail(run)).includes('cancelled')).toBe(status === 'cancelled');
    },
  );

  test('FLOW-08 pause completes the row with its output and pauses; resume goes on with the next step', async () => {
    const { workflows } = await boot();
    const done: string[] = [];
    const run = await start(workflows, {
      one: (ctx) => {
        done.push('one');
        ctx.output({ kept: true });
        ctx.pause();
      },
      two: () => done.push('two'),
    });
    await suite.until(run, 'paused');
    expect(await attempts(run)).toEqual(['one#1 completed, paused']);
    expect((await run.steps())[0].output).toEqual({ kept: true });
    expect((await run.events()).slice(-2).map(({ name, actor }) => `${name} by ${actor}`)).toEqual([
      'step_completed by system',
      'paused by system',
    ]);
    await run.resume();
    await suite.until(run, 'finished');
    expect(done).toEqual(['one', 'two']);
    expect(await attempts(run)).toEqual(['one#1 completed, paused', 'two#1 completed']);
  });

  test('FLOW-09 pause in the last step, then resume: the run is finished', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { two: (ctx) => ctx.pause() });
    await suite.until(run, 'paused');
    expect((await run.resume()).status).toBe('finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed, paused']);
    expect((await suite.trail(run)).slice(-3)).toEqual(['paused', 'resumed', 'finished']);
  });

  test('FLOW-10 cancel ends row and run, and later steps never get a row', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { one: (ctx) => ctx.cancel() });
    await suite.until(run, 'cancelled');
    expect(await attempts(run)).toEqual(['one#1 cancelled']);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'step_started', 'cancelled']);
    expect((await run.events()).at(-1)!.actor).toBe('system');
  });

  test('FLOW-11 reattempt fails the row without an error and schedules the next attempt after wait', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { one: (ctx) => ctx.reattempt({ wait: '2 hours' }) });
    await suite.eventually(async () => (await run.steps()).length === 2, 'the next attempt is scheduled');
    expect(await attempts(run)).toEqual(['one#1 failed, reattempted', 'one#2 scheduled']);
    const [first, second] = await run.steps();
    expect(second.availableAt!.getTime() - first.finishedAt!.getTime()).toBe(2 * 60 * 60 * 1_000);
    expect((await run.reload()).status).toBe('ready');
    expect((await suite.trail(run)).slice(-2)).toEqual(['step_reattempted', 'step_scheduled']);
  });

  test('FLOW-11 reattempt without wait is due at once; a wait that is none fails the attempt', async () => {
    const { workflows } = await boot();
    const seen: number[] = [];
    const run = await start(workflows, {
      one: (ctx) => {
        seen.push(ctx.attempt);
        if (ctx.attempt < 4) ctx.reattempt();
      },
    });
    await suite.until(run, 'finished');
    expect(seen).toEqual([1, 2, 3, 4]);

    const wrong = await start(workflows, { one: (ctx) => ctx.reattempt({ wait: -1 }) });
    await suite.until(wrong, 'cancelled');
    expect(await attempts(wrong)).toEqual([
      'one#1 failed, reattempted: WorkflowDefinitionError',
      'one#2 failed, cancelled: WorkflowDefinitionError',
    ]);
  });

  test('FLOW-12 skip passes over the step; what it had put out stays on the row and is no output', async () => {
    const { workflows } = await boot();
    let read: unknown;
    const run = await start(workflows, {
      one: (ctx) => {
        ctx.output({ half: 'done' });
        ctx.skip();
      },
      two: async (ctx) => {
        read = [await ctx.outputOf('one'), await ctx.outputs()];
        ctx.skip();
      },
    });
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 skipped', 'two#1 skipped']);
    expect(read).toEqual([null, {}]);
    expect((await run.steps())[0].output).toEqual({ half: 'done' });
    expect((await suite.trail(run)).slice(-2)).toEqual(['step_skipped', 'finished']);
  });

  test('FLOW-13 finish completes the row with its output and ends the run', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, {
      one: (ctx) => {
        ctx.output({ early: true });
        ctx.finish();
      },
    });
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed, finished']);
    expect((await run.steps())[0].output).toEqual({ early: true });
    expect((await suite.trail(run)).slice(-2)).toEqual(['step_completed', 'finished']);
  });

  test('FLOW-14 a body that returns completes its row, whatever it returns', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { one: () => ({ output: 'ignored' }), two: () => false });
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed']);
    expect((await run.steps()).map(({ output }) => output)).toEqual([null, null]);
    expect((await suite.trail(run)).slice(-2)).toEqual(['step_completed', 'finished']);
  });

  test('FLOW-16 a context kept after its attempt refuses verbs and readers', async () => {
    const { workflows } = await boot();
    const kept: StepContext[] = [];
    const keep = (ctx: StepContext) => kept.push(ctx);
    const failing = await start(workflows, {
      one: keep,
      two: (ctx) => {
        keep(ctx);
        throw new Error('also after an error');
      },
    });
    await suite.until(failing, 'cancelled');
    expect(kept).toHaveLength(3);
    for (const ctx of kept) {
      const uses: (() => unknown)[] = [
        () => ctx.pause(),
        () => ctx.cancel(),
        () => ctx.reattempt(),
        () => ctx.skip(),
        () => ctx.finish(),
        () => ctx.output({}),
        () => ctx.manager,
        () => ctx.receivedSignal,
        () => ctx.timedOut,
        () => ctx.woken,
      ];
      for (const use of uses) expect(use).toThrow(NotInStepError);
      await expect(ctx.outputOf('one')).rejects.toThrow(NotInStepError);
      await expect(ctx.outputs()).rejects.toThrow(NotInStepError);
      await expect(ctx.signalReady()).rejects.toThrow(NotInStepError);
      expect(ctx.workflowId).toBe(failing.id);
    }
    expect(await attempts(failing)).toEqual([
      'one#1 completed',
      'two#1 failed, reattempted: Error',
      'two#2 failed, cancelled: Error',
    ]);
  });

  test('FLOW-16 currentStep() knows the step in all that a body awaits, each of 50 at once its own', async () => {
    const { workflows, dataSource } = await suite.boot([Verbs], { worker: { concurrency: 50 } });
    const together = gate();
    const seen = new Map<string, unknown[]>();
    const key = randomUUID();
    let present = 0;
    bodies.set(key, {
      one: async (ctx) => {
        if ((present += 1) === 50) together.open();
        await together.opened;
        const mine: unknown[] = [currentStep()];
        await new Promise(setImmediate);
        mine.push(currentStep());
        await dataSource.query('select 1');
        mine.push(currentStep());
        setImmediate(() => mine.push(currentStep()));
        seen.set(ctx.workflowId, mine);
      },
    });
    expect(currentStep()).toBeUndefined();
    const runs = await workflows.startMany(
      Verbs,
      Array.from({ length: 50 }, () => ({ args: { key } })),
    );
    for (const run of runs) await suite.until(run, 'finished');
    expect(currentStep()).toBeUndefined();
    for (const { id } of runs) {
      const own = { workflowId: id, workflowName: 'Verbs', stepName: 'one', attempt: 1 };
      expect(seen.get(id)).toEqual([own, own, own, own]);
    }
  });
});
