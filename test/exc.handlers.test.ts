import {
  CancelIf,
  OnException,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import {
  Declined,
  ReadTimeout,
  scripted,
  scriptOf,
  throwing,
  Timeout,
  type Handler,
  type Script,
} from './support/failing';
import { gate, workflowSuite } from './support/suite';

const handled: [string, unknown][] = [];

@Workflow({ onException: { action: 'cancel', matching: ReadTimeout } })
class Handlers extends WorkflowOf<null, { key: string }> {
  @OnException() async blanket(error: unknown, ctx: Ctx<this>) {
    handled.push(['blanket', error]);
    await scriptOf(ctx).handle?.(error, ctx);
  }
  @OnException(Timeout) async timeout(error: Timeout, ctx: Ctx<this>) {
    handled.push(['timeout', error]);
    await scriptOf(ctx).handle?.(error, ctx);
  }
  @CancelIf() async guard(ctx: Ctx<this>) {
    await scriptOf(ctx).guard?.(ctx);
  }
  @Step() async one(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
  @Step() async two() {}
}

class Ship {
  constructor(readonly id: string) {}
}

@SubjectLoader(Ship)
class Harbour {
  static lost = false;
  async load(id: string): Promise<Ship | null> {
    if (Harbour.lost) throw new Timeout('the harbour does not answer');
    return new Ship(id);
  }
}

const met: unknown[] = [];

@Workflow({ subject: Ship })
class Voyage extends WorkflowOf<Ship, { also?: Ship }> {
  @Step() async sail() {}
  @OnException(Timeout) async lost(error: Timeout, ctx: Ctx<this>) {
    met.push(error);
    for (const read of [() => ctx.subject, () => ctx.args, () => ctx.requireSubject()]) {
      try {
        met.push(read());
      } catch (unread) {
        met.push(unread);
      }
    }
    Harbour.lost = false;
    ctx.reattempt();
  }
}

@Workflow({ subject: Ship })
class GuardedVoyage extends Voyage {
  @CancelIf() never() {
    return false;
  }
}

describe('exception policies', () => {
  const suite = workflowSuite();
  const start = (workflows: WorkflowService, script: Script) => workflows.start(Handlers, scripted(script));

  test.each<[string, Handler, string, string]>([
    ['pause', (_, ctx) => ctx.pause(), 'paused', 'one#1 failed, paused: Declined'],
    ['cancel', (_, ctx) => ctx.cancel(), 'cancelled', 'one#1 failed, cancelled: Declined'],
    ['skip', (_, ctx) => ctx.skip(), 'finished', 'one#1 skipped: Declined'],
    ['finish', (_, ctx) => ctx.finish(), 'finished', 'one#1 completed, finished: Declined'],
    ['reattempt', (_, ctx) => ctx.reattempt(), 'finished', 'one#1 failed, reattempted: Declined'],
    ['no verb', () => undefined, 'paused', 'one#1 failed, paused: Declined'],
  ])('EXC-12 the verb that an @OnException method calls is the outcome: %s', async (_, handle, status, first) => {
    const { workflows, reported } = await suite.boot([Handlers]);
    handled.length = 0;
    const error = new Declined('by the bank');
    const run = await start(workflows, { body: throwing(error), handle });
    await suite.until(run, status as 'paused');
    expect((await attempts(run))[0]).toBe(first);
    expect((await run.steps())[0].error).toMatchObject({ class: 'Declined', message: 'by the bank' });
    expect(handled).toEqual([['blanket', error]]);
    await suite.eventually(() => reported.length > 0, 'it is reported');
    expect(reported).toEqual([expect.objectContaining({ error })]);
  });

  test('EXC-12 handlers rank as policies of the class: after its declared ones, a fitting one before a blanket one', async () => {
    const { workflows } = await suite.boot([Handlers]);
    handled.length = 0;
    const timeout = new Timeout();
    await suite.until(await start(workflows, { body: throwing(timeout) }), 'paused');
    expect(handled).toEqual([['timeout', timeout]]);
    await suite.until(await start(workflows, { body: throwing(new ReadTimeout()) }), 'cancelled');
    expect(handled).toHaveLength(1);
  });

  test('EXC-12 a verb that the handler swallows holds, and one that the body had called does not count there', async () => {
    const { workflows } = await suite.boot([Handlers]);
    const run = await start(workflows, {
      body: throwing(new Declined()),
      handle: (_, ctx) => {
        try {
          ctx.skip();
        } catch {
          // As an application's catch-all would.
        }
        throw new Error('after the verb');
      },
    });
    await suite.until(run, 'finished');
    expect((await attempts(run))[0]).toBe('one#1 skipped: Declined');
  });

  test.each(['body', 'guard'] as const)(
    "EXC-13 a handler never runs under the run's lock, for an error of the %s",
    async (where) => {
      const { workflows } = await suite.boot([Handlers]);
      const inHandler = gate<StepContext>();
      const go = gate();
      const script: Script = {
        handle: async (_, ctx) => {
          inHandler.open(ctx);
          await go.opened;
          ctx.skip();
        },
      };
      script[where] = (ctx) => {
        if (ctx.stepName === 'one') throw new Declined();
      };
      const run = await start(workflows, script);
      const ctx = await inHandler.opened;
      expect(ctx.manager.queryRunner).toBeUndefined();
      await run.pause({ lockTimeout: 5_000 });
      go.open();
      await suite.eventually(async () => (await run.steps())[0].status === 'skipped', 'the handler has ended');
      expect((await run.reload()).status).toBe('paused');
      expect(await attempts(run)).toEqual(['one#1 skipped: Declined', 'two#1 scheduled']);
      await run.resume();
      await suite.until(run, 'finished');
    },
  );

  test('EXC-13 a handler that throws pauses the run with its error, the first one as its cause', async () => {
    const { workflows, reported } = await suite.boot([Handlers]);
    const first = new Declined('first');
    const second = new TypeError('second');
    const run = await start(workflows, {
      body: throwing(first),
      handle: () => {
        throw second;
      },
    });
    await suite.until(run, 'paused');
    expect((await run.steps())[0].error).toMatchObject({
      class: 'TypeError',
      message: 'second',
      causes: [{ class: 'Declined', message: 'first' }],
    });
    expect(reported).toEqual([expect.objectContaining({ error: second })]);
    expect(second.cause).toBe(first);
  });

  test('EXC-13 a handler that throws the error on is no circle', async () => {
    const { workflows, reported } = await suite.boot([Handlers]);
    const error = new Declined('on and on');
    const run = await start(workflows, {
      body: throwing(error),
      handle: (given) => {
        throw given;
      },
    });
    await suite.until(run, 'paused');
    expect((await run.steps())[0].error).toMatchObject({ class: 'Declined', message: 'on and on', causes: [] });
    expect(reported).toEqual([expect.objectContaining({ error })]);
    expect(error.cause).toBeUndefined();
  });

  test('EXC-16 errors of guards and of ctx.output go to the policies like one of the body', async () => {
    const { workflows } = await suite.boot([Handlers]);
    handled.length = 0;
    const guarded = await start(workflows, {
      guard: ({ stepName, attempt }) => {
        if (stepName === 'one' && attempt === 1) throw new Timeout('in the guard');
      },
      handle: (_, ctx) => ctx.reattempt(),
    });
    await suite.until(guarded, 'finished');
    expect(handled).toEqual([['timeout', expect.objectContaining({ message: 'in the guard' })]]);
    expect(await attempts(guarded)).toEqual([
      'one#1 failed, reattempted: Timeout',
      'one#2 completed',
      'two#1 completed',
    ]);

    const wrong = await start(workflows, {
      body: (ctx) => ctx.output({ fn: () => 1 }),
      handle: (_, ctx) => ctx.skip(),
    });
    await suite.until(wrong, 'finished');
    expect((await attempts(wrong))[0]).toBe('one#1 skipped: UnserializableValueError');
  });

  test.each([Voyage, GuardedVoyage])(
    'EXC-16 a subject or an argument that cannot be loaded goes to the policies, and is not taken for one that is gone (%p)',
    async (type) => {
      const { workflows } = await suite.boot([Harbour, type]);
      for (const options of [{ subject: new Ship('Vasa') }, { args: { also: new Ship('Ark') } }]) {
        Harbour.lost = true;
        met.length = 0;
        const run = await workflows.start<Voyage>(type, options);
        await suite.until(run, 'finished');
        expect(await attempts(run)).toEqual(['sail#1 failed, reattempted: Timeout', 'sail#2 completed']);
        const unread = expect.objectContaining({ message: 'the harbour does not answer' });
        expect(met).toEqual([unread, unread, unread, unread]);
      }
    },
  );
});
