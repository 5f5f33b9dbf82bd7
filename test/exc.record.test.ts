import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { CancelIf, OnException, Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

type Throws = (ctx: StepContext) => unknown;

const throwers = new Map<string, Throws>();

function thrower(throws: Throws) {
  const key = randomUUID();
  throwers.set(key, throws);
  return { args: { key } };
}

const run = (ctx: StepContext) => throwers.get(ctx.args.key)!(ctx);

@Workflow()
class InBody extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await run(ctx);
  }
}

@Workflow()
class InTransaction extends WorkflowOf<null, { key: string }> {
  @Step({ transactional: true }) async only(ctx: Ctx<this>) {
    await run(ctx);
  }
}

@Workflow()
class InGuard extends WorkflowOf<null, { key: string }> {
  @CancelIf() async guard(ctx: Ctx<this>) {
    await run(ctx);
  }
  @Step() async only() {}
}

@Workflow()
class InHandler extends WorkflowOf<null, { key: string }> {
  @Step() async only() {
    throw new Error('the first one');
  }
  @OnException() async handle(_: unknown, ctx: Ctx<InHandler>) {
    await run(ctx);
  }
}

class PaymentError extends Error {}

function cyclic(): Error {
  const inner = new RangeError('inner');
  const outer = new PaymentError('outer', { cause: inner });
  inner.cause = outer;
  return outer;
}

const refuse = (): never => {
  throw new Error('do not look at me');
};

/** Throws whatever is done to it. */
function hostile(): object {
  const traps = ['get', 'getPrototypeOf', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'set', 'defineProperty'];
  return new Proxy(new Error('behind'), Object.fromEntries(traps.map((trap) => [trap, refuse])));
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const ODD: [string, () => unknown, string][] = [
  ['undefined', () => undefined, 'undefined'],
  ['null', () => null, 'null'],
  ['a text', () => 'out of stock', 'string'],
  ['a symbol', () => Symbol('why'), 'symbol'],
  ['a bigint', () => 42n, 'bigint'],
  ['a function', () => () => 'not an error', 'Function'],
  ['an object without a prototype', () => Object.create(null), 'Object'],
  ['an error whose causes go in a circle', cyclic, 'PaymentError'],
  ['a frozen error', () => Object.freeze(new PaymentError('frozen')), 'PaymentError'],
  ['an error with NUL and half a character', () => new PaymentError('a\0b\ud800c'), 'PaymentError'],
  ['an error of two megabytes', () => new PaymentError('x'.repeat(2_000_000)), 'PaymentError'],
  ['a proxy that throws when it is looked at', hostile, 'Error|unknown|Object|object'],
  ['a revoked proxy', revoked, 'unknown|Object|object'],
];

describe('what is kept and told of an error', () => {
  const suite = workflowSuite();

  test('EXC-01 without a policy the row failed and the run paused; the worker goes on with other steps', async () => {
    const { workflows } = await suite.boot([InBody, Scripted], { worker: { concurrency: 1 } });
    const failed = await workflows.start(
      InBody,
      thrower(() => {
        throw new PaymentError('declined');
      }),
    );
    const other = await workflows.start(Scripted, script({}));
    await suite.until(failed, 'paused');
    await suite.until(other, 'finished');
    expect(await attempts(failed)).toEqual(['only#1 failed, paused: PaymentError']);
    const events = (await failed.events()).map(({ name, actor }) => `${name} by ${actor}`);
    expect(events.slice(-2)).toEqual(['step_failed by system', 'paused by system']);
  });

  test("EXC-01 a rejection that a body leaves behind is the application's: the engine listens to none of the process's events", async () => {
    const events = ['unhandledRejection', 'uncaughtException', 'rejectionHandled', 'warning'];
    const listeners = () => events.map((event) => process.listenerCount(event));
    const before = listeners();
    const { workflows } = await suite.boot([Scripted]);
    expect(listeners()).toEqual(before);
    let forgotten: Promise<never> | undefined;
    const left = await workflows.start(
      Scripted,
      script({
        one: () => {
          forgotten = Promise.reject(new Error('nobody awaits me'));
          // As the application's own handler would, so that this process goes on.
          forgotten.catch(() => undefined);
        },
      }),
    );
    await suite.until(left, 'finished');
    await expect(forgotten).rejects.toThrow('nobody awaits me');
  });

  test('EXC-02 the row keeps class, message, backtrace, causes, worker and revision', async () => {
    const { workflows } = await suite.boot([InBody], { appRevision: 'r42', errorBacktraceLines: 2 });
    const deep = (levels: number): never => {
      if (levels > 0) return deep(levels - 1);
      throw new PaymentError('declined', { cause: new RangeError('the limit', { cause: 'a text' }) });
    };
    const failed = await workflows.start(
      InBody,
      thrower(() => deep(5)),
    );
    await suite.until(failed, 'paused');
    const [row] = await failed.steps();
    expect(row).toMatchObject({ worker: `${hostname()}:${process.pid}`, appRevision: 'r42' });
    expect(row.error).toEqual({
      class: 'PaymentError',
      message: 'declined',
      backtrace: expect.any(String),
      causes: [
        { class: 'RangeError', message: 'the limit' },
        { class: 'string', message: 'a text' },
      ],
    });
    const frames = row.error!.backtrace!.split('\n');
    expect(frames).toHaveLength(2);
    for (const frame of frames) expect(frame).toMatch(/exc\.record\.test\.ts/);
  });

  test("EXC-02 no frame of the engine's or of a package's is kept", async () => {
    const { workflows } = await suite.boot([InBody]);
    const failed = await workflows.start(
      InBody,
      thrower(async ({ manager }) => {
        await manager.query('select 1 / 0');
      }),
    );
    await suite.until(failed, 'paused');
    const { error } = (await failed.steps())[0];
    expect(error!.class).toBe('QueryFailedError');
    expect(error!.backtrace).toMatch(/exc\.record\.test\.ts/);
    expect(error!.backtrace).not.toMatch(/node_modules|libs\/workflow\/src|node:/);
  });

  test('EXC-02 a circle of causes ends the chain', async () => {
    const { workflows } = await suite.boot([InBody]);
    const failed = await workflows.start(
      InBody,
      thrower(() => {
        throw cyclic();
      }),
    );
    await suite.until(failed, 'paused');
    expect((await failed.steps())[0].error).toMatchObject({
      class: 'PaymentError',
      causes: [{ class: 'RangeError', message: 'inner' }],
    });
  });

  test.each<[string, typeof InBody | typeof InTransaction | typeof InGuard]>([
    ['body', InBody],
    ['transactional body', InTransaction],
    ['guard', InGuard],
  ])('EXC-02 whatever a %s throws is recorded, reported as it is, and pauses the run', async (_, workflow) => {
    const { workflows, reported } = await suite.boot([workflow]);
    for (const [what, make, kind] of ODD) {
      const thrown = make();
      const failed = await workflows.start(
        workflow,
        thrower(() => {
          throw thrown;
        }),
      );
      await suite.until(failed, 'paused');
      const [row, ...others] = await failed.steps();
      expect(others).toEqual([]);
      expect([what, row.status, row.outcome]).toEqual([what, 'failed', 'paused']);
      expect(row.error!.class).toMatch(new RegExp(`^(${kind})$`));
      await suite.eventually(() => reported.length > 0, `${what} is reported`);
      const [report, ...more] = reported.splice(0);
      expect(more).toEqual([]);
      expect(Object.is(report.error, thrown)).toBe(true);
      expect(report.context).toEqual({
        workflowClass: workflow.name,
        workflowId: failed.id,
        stepName: 'only',
        attempt: 1,
        outcome: 'paused',
      });
    }
  });

  test('EXC-12 AMB-20 whatever a handler throws pauses the run, the first error being the cause', async () => {
    const { workflows, reported } = await suite.boot([InHandler]);
    for (const [what, make] of ODD) {
      const thrown = make();
      const failed = await workflows.start(
        InHandler,
        thrower(() => {
          throw thrown;
        }),
      );
      await suite.until(failed, 'paused');
      const { error } = (await failed.steps())[0];
      expect([what, error!.causes.some(({ message }) => message === 'the first one' || message === 'inner')]).toEqual([
        what,
        true,
      ]);
      await suite.eventually(() => reported.length > 0, `${what} is reported`);
      expect(reported.splice(0)).toHaveLength(1);
    }
  });

  test('EXC-03 each failed attempt is reported once, with its context', async () => {
    const { workflows, reported } = await suite.boot([InBody]);
    const error = new PaymentError('declined');
    const failed = await workflows.start(
      InBody,
      thrower(() => {
        throw error;
      }),
    );
    await suite.until(failed, 'paused');
    await failed.resume();
    await suite.eventually(() => reported.length === 2, 'both attempts are reported');
    await suite.until(failed, 'paused');
    const context = { workflowClass: 'InBody', workflowId: failed.id, stepName: 'only', outcome: 'paused' };
    expect(reported).toEqual([
      { error, context: { ...context, attempt: 1 } },
      { error, context: { ...context, attempt: 2 } },
    ]);
  });

  test.each<[string, () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('no connection to the tracker');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no connection to the tracker'))],
    [
      'throws what cannot be looked at',
      () => {
        throw hostile() as Error;
      },
    ],
    // oxlint-disable-next-line prefer-promise-reject-errors
    ['rejects with an object without a prototype', () => Promise.reject(Object.create(null))],
  ])('EXC-03 a reporter that %s is logged, and changes no outcome', async (_, report) => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    try {
      const { workflows } = await suite.boot([InBody, InGuard, Scripted], {
        errorReporter: { report },
        worker: { concurrency: 1 },
      });
      const throws = thrower(() => {
        throw new PaymentError('declined');
      });
      for (const workflow of [InBody, InGuard]) {
        const failed = await workflows.start(workflow, throws);
        await suite.until(failed, 'paused');
        expect(await attempts(failed)).toEqual(['only#1 failed, paused: PaymentError']);
      }
      await suite.until(await workflows.start(Scripted, script({})), 'finished');
      const lines = logged.mock.calls.map(([message]) => String(message));
      expect(lines).toHaveLength(2);
      for (const line of lines) expect(line).toMatch(/^The error reporter failed: /);
    } finally {
      logged.mockRestore();
    }
  });

  test('EXC-03 a reporter that never answers does not keep the worker', async () => {
    const { workflows } = await suite.boot([InBody, Scripted], {
      errorReporter: { report: () => new Promise(() => undefined) },
      worker: { concurrency: 1 },
    });
    const failed = await workflows.start(
      InBody,
      thrower(() => {
        throw new PaymentError('declined');
      }),
    );
    await suite.until(failed, 'paused');
    expect(await suite.until(await workflows.start(Scripted, script({})), 'finished')).toBe('finished');
  });

  test("EXC-03 without a reporter the error goes to Nest's logger, whatever it is", async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    try {
      const { workflows } = await suite.boot([InBody], { errorReporter: undefined });
      for (const thrown of [new PaymentError('declined'), null, hostile()]) {
        const failed = await workflows.start(
          InBody,
          thrower(() => {
            throw thrown;
          }),
        );
        await suite.until(failed, 'paused');
        await suite.eventually(() => logged.mock.calls.length > 0, 'it is logged');
        const lines = logged.mock.calls.splice(0).map(([message]) => String(message));
        expect(lines).toEqual([
          expect.stringContaining(`workflow=${failed.id} step=only attempt=1 class=InBody ended as paused`),
        ]);
      }
    } finally {
      logged.mockRestore();
    }
  });

  test('EXC-03 an error whose outcome came too late is not reported', async () => {
    const { workflows, reported } = await suite.boot([InBody]);
    const cancelled = await workflows.start(
      InBody,
      thrower(async ({ workflowId }) => {
        await (await workflows.find(workflowId)).cancel();
        throw new Error('too late');
      }),
    );
    await suite.eventually(
      async () => (await suite.trail(cancelled)).includes('late_completion_ignored'),
      'the outcome came',
    );
    expect(await attempts(cancelled)).toEqual(['only#1 cancelled']);
    expect(reported).toEqual([]);
  });
});
