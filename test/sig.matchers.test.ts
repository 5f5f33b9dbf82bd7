import {
  CancelIf,
  OnException,
  Step,
  Workflow,
  WorkflowDefinitionError,
  WorkflowOf,
  matcher,
  type Ctx,
  type ReceivedSignal,
  type SignalMatcher,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { allRows, newestRow } from './support/rows';
import { signalsOf } from './support/signalled';
import { workflowSuite } from './support/suite';

const seen: unknown[] = [];
const received = (ctx: StepContext) => void seen.push(ctx.receivedSignal.payload);
/** Set by a test: what the next question to `Capricious` does. */
let answer: (signal: ReceivedSignal) => unknown = () => true;

class Capricious {
  matches(signal: ReceivedSignal): boolean {
    return answer(signal) as boolean;
  }
}

@Workflow()
class ByName extends WorkflowOf {
  @Step({ waitFor: 'shipped' })
  async ship(ctx: Ctx<this, 'shipped'>) {
    received(ctx);
  }
}

@Workflow()
class ByPayload extends WorkflowOf {
  @Step({ waitFor: matcher<{ region?: string }>('shipped', ({ region }) => region as unknown as boolean) })
  async ship(ctx: Ctx<this, any>) {
    received(ctx);
  }
}

@Workflow()
class ByObject extends WorkflowOf<null, { guard?: boolean }> {
  @CancelIf()
  never() {
    return false;
  }

  @Step({ waitFor: new Capricious() })
  async ship(ctx: Ctx<this, any>) {
    received(ctx);
  }

  @OnException(RangeError)
  async handle(error: RangeError, ctx: StepContext) {
    seen.push([error.message, ctx.receivedSignal, ctx.woken]);
    ctx.skip();
  }
}

const GO: SignalMatcher = {
  name: 'go',
  matches: ({ payload }) => {
    if (payload.fail) throw new EvalError('at matcher');
    return payload.go === true;
  },
};

@Workflow()
class Failing extends WorkflowOf<null, { at: 'cancelIf' | 'skipIf' | 'waitTimeout' | 'matcher' | 'output' | 'body' }> {
  @CancelIf()
  cancelled(ctx: Ctx<this>) {
    this.failAt(ctx, 'cancelIf');
  }

  @Step({
    waitFor: GO,
    waitTimeout: 'deadline',
    skipIf: 'skipped',
    onException: { matching: 'EvalError', action: 'skip' },
  })
  async one(ctx: Ctx<this, any>) {
    if (ctx.args.at === 'output') ctx.output({ of: () => {} });
    this.failAt(ctx, 'body');
  }

  @OnException('UnserializableValueError')
  unserializable(_error: Error, ctx: StepContext) {
    ctx.skip();
  }

  skipped(ctx: Ctx<this>) {
    this.failAt(ctx, 'skipIf');
  }

  deadline(ctx: Ctx<this>) {
    this.failAt(ctx, 'waitTimeout');
  }

  private failAt(ctx: StepContext, at: string) {
    if (ctx.args.at === at) throw new EvalError(`at ${at}`);
  }
}

describe('what a step waits for', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const boot = () => suite.boot([ByName, ByPayload, ByObject, Failing]);

  beforeEach(() => {
    seen.length = 0;
    answer = () => true;
  });

  test('SIG-15 a name takes signals of that name, whatever the payload', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(ByName);
    await until(run, 'waiting');
    for (const name of ['Shipped', 'shipped ', 'shippe', 'unshipped']) {
      expect(await run.signal(name, { region: 'eu' })).toMatchObject({ name, status: 'pending' });
    }
    expect(await run.signal('shipped', { any: [1, null] })).toMatchObject({ status: 'claimed' });
    await until(run, 'finished');
    expect(seen).toEqual([{ any: [1, null] }]);
  });

  test('SIG-15 SIG-02 SIG-06 matcher(name, fn) needs the name and a truthy answer, waiting and at the gate', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(ByPayload);
    await until(run, 'waiting');
    expect(await newestRow(sql, run)).toMatchObject({ wait_for: 'shipped' });
    expect((await run.signal('shipped', { region: '' })).status).toBe('pending');
    expect((await run.signal('shipped')).status).toBe('pending');
    expect((await run.signal('arrived', { region: 'eu' })).status).toBe('pending');
    expect((await run.signal('shipped', { region: 'eu' })).status).toBe('claimed');
    await until(run, 'finished');

    const { workflows: idle } = await suite.boot([ByPayload], { worker: false });
    const early = await idle.start(ByPayload);
    // The gate passes over older ones, and takes the oldest that fits.
    for (const [name, region] of [
      ['shipped', ''],
      ['arrived', 'eu'],
      ['shipped', 'us'],
      ['shipped', 'eu'],
    ]) {
      await early.signal(name, { region });
    }
    await until(early, 'finished');
    expect(seen).toEqual([{ region: 'eu' }, { region: 'us' }]);
    expect(await signalsOf(sql, early)).toEqual([
      'shipped pending',
      'arrived pending',
      'shipped consumed by ship#1',
      'shipped pending',
    ]);
  });

  test("SIG-15 an object's matches decides alone, on name and payload", async () => {
    const asked: unknown[] = [];
    answer = (signal) => {
      asked.push(signal);
      return signal.payload.take;
    };
    const { workflows } = await boot();
    const run = await workflows.start(ByObject, { args: {} });
    await until(run, 'waiting');
    expect((await run.events()).at(-1)).toMatchObject({ name: 'step_waiting', details: { wait_for: 'Capricious' } });
    const at = new Date(0);
    expect((await run.signal('a', { take: 0, at })).status).toBe('pending');
    expect((await run.signal('b', { take: 1 })).status).toBe('claimed');
    await until(run, 'finished');
    expect(asked).toEqual([
      { name: 'a', payload: { take: 0, at } },
      { name: 'b', payload: { take: 1 } },
    ]);
    expect(seen).toEqual([{ take: 1 }]);
  });

  const throwing = () => {
    throw new RangeError('capricious');
  };

  test('SIG-16 EXC-16 a matcher that throws at the gate: the policies decide, and no signal is taken', async () => {
    const { workflows } = await suite.boot([ByObject], { worker: false });
    const run = await workflows.start(ByObject, { args: {} });
    await run.signal('a', { x: 1 });
    answer = throwing;
    await boot();
    await until(run, 'finished');
    // It asked the handler, which saw no signal: none was taken.
    expect(seen).toEqual([['capricious', null, false]]);
    expect(await attempts(run)).toEqual(['ship#1 skipped: RangeError']);
    expect(await signalsOf(sql, run)).toEqual(['a pending']);
    expect(await suite.trail(run)).toEqual([
      'started',
      'step_scheduled',
      'signal_received',
      'step_skipped',
      'finished',
    ]);
  });

  test('SIG-16 without a policy the run pauses on it, and resume asks the matcher again', async () => {
    const { workflows } = await suite.boot([ByObject], { worker: false });
    const run = await workflows.start(ByObject, { args: {} });
    await run.signal('a', { x: 1 });
    answer = () => {
      throw new TypeError('no payload');
    };
    const { workflows: working, reported } = await boot();
    await until(run, 'paused');
    expect(await newestRow(sql, run)).toMatchObject({
      status: 'failed',
      error_class: 'TypeError',
      waiting_since: null,
    });
    expect(reported.map(({ error }) => error)).toEqual([expect.any(TypeError)]);
    answer = () => true;
    await (await working.find(run.id)).resume();
    await until(run, 'finished');
    expect(seen).toEqual([{ x: 1 }]);
    expect(await signalsOf(sql, run)).toEqual(['a consumed by ship#2']);
  });

  describe('inside signal()', () => {
    const waiting = async (): Promise<WorkflowHandle> => {
      const { workflows } = await boot();
      const run = await workflows.start(ByObject, { args: {} });
      await until(run, 'waiting');
      return run;
    };

    test('SIG-16 a matcher that throws: the caller gets that error, nothing is stored, the step keeps waiting', async () => {
      const run = await waiting();
      const before = await allRows(sql);
      const error = new RangeError('mine');
      answer = () => {
        throw error;
      };
      await expect(run.signal('a', { x: 1 }, { idempotencyKey: 'k' })).rejects.toBe(error);
      expect(await allRows(sql)).toEqual(before);
      expect((await run.reload()).status).toBe('waiting');
      answer = () => true;
      // The key is free still.
      expect(await run.signal('a', { x: 2 }, { idempotencyKey: 'k' })).toMatchObject({ duplicateDelivery: false });
      await until(run, 'finished');
      expect(seen).toEqual([{ x: 2 }]);
    });

    test("SIG-16 in the caller's transaction too, which goes on and commits what else is in it", async () => {
      const { workflows, dataSource } = await boot();
      const run = await workflows.start(ByObject, { args: {} });
      await until(run, 'waiting');
      const before = await allRows(sql);
      answer = throwing;
      await sql('create table if not exists notes (note text)');
      await dataSource.transaction(async (manager) => {
        await expect(run.signal('a', {}, { manager })).rejects.toThrow(RangeError);
        await manager.query(`insert into notes values ('went on')`);
      });
      expect(await sql('select note from notes')).toEqual([{ note: 'went on' }]);
      expect(await allRows(sql)).toEqual(before);
      await run.cancel();
    });

    test.each([
      ['resolves', () => Promise.resolve(true)],
      ['rejects', () => Promise.reject(new Error('nobody waits for it'))],
    ])(
      'SIG-16 a matcher that returns a promise which %s is refused: it would take every signal',
      async (_how, promise) => {
        const unhandled: unknown[] = [];
        const note = (reason: unknown) => void unhandled.push(reason);
        process.on('unhandledRejection', note);
        const run = await waiting();
        const before = await allRows(sql);
        answer = promise;
        await expect(run.signal('a')).rejects.toThrow(WorkflowDefinitionError);
        await expect(run.signal('a')).rejects.toThrow('matches() returned a promise');
        expect(await allRows(sql)).toEqual(before);
        await run.cancel();
        process.off('unhandledRejection', note);
        expect(unhandled).toEqual([]);
      },
    );

    test('SIG-16 a promise at the gate is an error for the policies', async () => {
      const { workflows } = await suite.boot([ByObject], { worker: false });
      const run = await workflows.start(ByObject, { args: {} });
      await run.signal('a');
      answer = () => Promise.resolve(true);
      await boot();
      await until(run, 'paused');
      expect(await newestRow(sql, run)).toMatchObject({ error_class: 'WorkflowDefinitionError' });
      expect(await signalsOf(sql, run)).toEqual(['a pending']);
      const { workflows: idle } = await suite.boot([ByObject], { worker: false });
      await (await idle.find(run.id)).cancel();
    });

    test('SIG-16 matchers run under the run lock: while somebody else has it, none is asked', async () => {
      const run = await waiting();
      let asked = 0;
      answer = () => (asked += 1) > 1;
      const lock = await holdRuns(suite, [run.id]);
      const sent = run.signal('a');
      await untilWaitingForLocks(suite, 1);
      expect(asked).toBe(0);
      await lock.release();
      expect((await sent).status).toBe('pending');
      expect(asked).toBe(1);
      await run.cancel();
    });
  });

  test.each(['cancelIf', 'skipIf', 'waitTimeout', 'matcher', 'output', 'body'] as const)(
    'EXC-16 an error in %s at a waiting step goes to the same policies',
    async (at) => {
      const { workflows } = await suite.boot([Failing], { worker: false });
      const run = await workflows.start(Failing, { args: { at } });
      if (at === 'matcher') await run.signal('go', { fail: true });
      if (at === 'output' || at === 'body') await run.signal('go', { go: true });
      await boot();
      await until(run, 'finished');
      const kind = at === 'output' ? 'UnserializableValueError' : 'EvalError';
      expect(await attempts(run)).toEqual([`one#1 skipped: ${kind}`]);
      const [{ error }] = await run.steps();
      expect(error!.message).toContain(at === 'output' ? '.of is a function' : `at ${at}`);
      expect(await suite.trail(run)).not.toContain('step_waiting');
    },
  );
});
