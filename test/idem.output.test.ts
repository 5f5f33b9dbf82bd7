import { Logger } from '@nestjs/common';
import {
  PayloadTooLargeError,
  Step,
  UnserializableValueError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

const LIMIT = 200;

@Workflow({ onException: { action: 'skip' } })
class Skips extends WorkflowOf<null, { text: string }> {
  @Step() async one(ctx: Ctx<this>) {
    ctx.output({ text: ctx.args.text.repeat(LIMIT) });
  }
  @Step() async two() {}
}

describe('outputs', () => {
  const suite = workflowSuite();
  const boot = () => suite.boot([Scripted], { maxPayloadSize: LIMIT });

  test('IDEM-01 the output is written by the update that completes the row, and by no other', async () => {
    const { workflows } = await boot();
    await suite.sql('create table row_versions (id bigint, status text, output text)');
    await suite.sql(`create function note_version() returns trigger language plpgsql as $$
      begin insert into row_versions values (new.id, new.status, new.output::text); return null; end $$`);
    // Not `update`: a renewal of the lease, should one come between, sets neither.
    await suite.sql(`create trigger note after insert or update of status, output on workflow_steps
      for each row execute function note_version()`);
    try {
      const run = await workflows.start(
        Scripted,
        script({ one: (ctx) => ctx.output({ kept: 1 }), two: (ctx) => ctx.finish() }),
      );
      await suite.until(run, 'finished');
      const [first] = await run.steps();
      const versions = await suite.sql('select status, output from row_versions where id = $1', [first.id]);
      expect(versions).toEqual([
        { status: 'scheduled', output: null },
        { status: 'in_progress', output: null },
        { status: 'completed', output: '{"kept":1}' },
      ]);
    } finally {
      await suite.sql('drop trigger note on workflow_steps');
    }
  });

  test('IDEM-01 an outcome that is not stored leaves no output', async () => {
    const { workflows } = await boot();
    await suite.sql(`create function refuse_end() returns trigger language plpgsql as $$
      begin raise exception 'not today' using errcode = 'P0001'; end $$`);
    await suite.sql(`create trigger refuse before update on workflow_steps for each row
      when (new.status = 'completed') execute function refuse_end()`);
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    try {
      const run = await workflows.start(Scripted, script({ one: (ctx) => ctx.output({ lost: true }) }));
      await suite.eventually(() => logged.mock.calls.length > 0, 'the outcome was refused');
      expect(logged.mock.calls[0][0]).toMatch(/could not be stored; its row stays in progress .*: not today/);
      await suite.until(run, 'performing');
      const [row, ...others] = await run.steps();
      expect(others).toEqual([]);
      expect(row).toMatchObject({ status: 'in_progress', output: null, outcome: null });
    } finally {
      logged.mockRestore();
      await suite.sql('drop trigger refuse on workflow_steps');
    }
  });

  test('IDEM-01 AMB-33 several calls merge, later keys win; what is changed afterwards is not stored', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          const list = [1];
          const values: Record<string, unknown> = { list, a: 1, b: 1, at: { deep: 'as it was' } };
          ctx.output(values);
          list.push(2);
          values.a = 'changed afterwards';
          (values.at as Record<string, unknown>).deep = 'changed afterwards';
          ctx.output({ b: 2 });
          ctx.output({ c: 3 });
          values.list = 'changed afterwards';
        },
      }),
    );
    await suite.until(run, 'finished');
    expect((await run.steps())[0].output).toEqual({ list: [1], a: 1, b: 2, c: 3, at: { deep: 'as it was' } });
  });

  test('IDEM-02 outputOf gives the latest completed attempt, null if there is none; outputs() one a step', async () => {
    const { workflows } = await boot();
    const read: Record<string, unknown> = {};
    let again = false;
    const reader = async (ctx: StepContext) => {
      read[`${ctx.stepName} ${ctx.attempt}`] = [
        await ctx.outputOf('one'),
        await ctx.outputOf('unknown'),
        await ctx.outputs(),
      ];
    };
    const run = await workflows.start(
      Scripted,
      script({
        one: async (ctx) => {
          await reader(ctx);
          ctx.output({ attempt: ctx.attempt });
        },
        two: async (ctx) => {
          await reader(ctx);
          if (!again) ctx.pause();
        },
        three: reader,
      }),
    );
    await suite.until(run, 'paused');
    again = true;
    await run.resumeAt('one');
    await suite.until(run, 'finished');
    expect(read).toEqual({
      'one 1': [null, null, {}],
      'two 1': [{ attempt: 1 }, null, { one: { attempt: 1 } }],
      'one 2': [{ attempt: 1 }, null, { one: { attempt: 1 } }],
      'two 2': [{ attempt: 2 }, null, { one: { attempt: 2 } }],
      'three 1': [{ attempt: 2 }, null, { one: { attempt: 2 } }],
    });
  });

  test("IDEM-03 a failed or reattempted attempt's output stays on its row and is returned by neither", async () => {
    const { workflows } = await boot();
    let read: unknown;
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          ctx.output({ attempt: ctx.attempt });
          if (ctx.attempt === 1) ctx.reattempt();
          if (ctx.attempt === 2) throw new Error('failed');
        },
        two: async (ctx) => {
          if (ctx.attempt > 1) return;
          ctx.output({ failed: true });
          throw new Error('failed');
        },
        three: async (ctx) => {
          read = [await ctx.outputOf('one'), await ctx.outputOf('two'), await ctx.outputs()];
        },
      }),
    );
    await suite.until(run, 'paused');
    await run.resume();
    await suite.eventually(async () => (await run.steps()).length === 4, 'the second step was tried');
    await suite.until(run, 'paused');
    await run.resume();
    await suite.until(run, 'finished');
    expect(read).toEqual([{ attempt: 3 }, null, { one: { attempt: 3 } }]);
    expect((await run.steps()).map(({ output }) => output)).toEqual([
      { attempt: 1 },
      { attempt: 2 },
      { attempt: 3 },
      { failed: true },
      null,
      null,
    ]);
  });

  test('IDEM-04 the limit is in bytes of the merged output; what is over it throws in the body and leaves what was given before', async () => {
    const { workflows } = await boot();
    const thrown: unknown[] = [];
    const attempt = (put: () => void) => {
      try {
        put();
      } catch (error) {
        thrown.push(error);
      }
    };
    const exactly = (bytes: number) => 'x'.repeat(bytes - '{"a":""}'.length);
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          attempt(() => ctx.output({ a: exactly(LIMIT + 1) }));
          attempt(() => ctx.output({ a: exactly(LIMIT) }));
          attempt(() => ctx.output({ b: 1 }));
        },
        // 180 bytes of characters that take three each.
        two: (ctx) => attempt(() => ctx.output({ text: '€'.repeat(70) })),
      }),
    );
    await suite.until(run, 'finished');
    expect(thrown).toEqual([
      expect.any(PayloadTooLargeError),
      expect.any(PayloadTooLargeError),
      expect.any(PayloadTooLargeError),
    ]);
    expect((await run.steps()).map(({ output }) => output)).toEqual([{ a: exactly(LIMIT) }, null, null]);
  });

  test('IDEM-04 an output too large, not caught, goes to the policies', async () => {
    const { workflows } = await suite.boot([Skips], { maxPayloadSize: LIMIT });
    const run = await workflows.start(Skips, { args: { text: 'x' } });
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 skipped: PayloadTooLargeError', 'two#1 completed']);
  });

  test('IDEM-04 what cannot be stored throws and names its path', async () => {
    const { workflows } = await boot();
    const cycle: Record<string, unknown> = { name: 'loop' };
    cycle.self = { cycle };
    class Money {}
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ cycle }, /cycle\.self/],
      [{ list: [1, () => 1] }, /list\[1\]/],
      [{ key: Symbol('s') }, /key/],
      [{ price: new Money() }, /price.*Money/],
      [{ get boom() { throw new Error('no'); } }, /./],
    ]; // prettier-ignore
    const messages: unknown[] = [];
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          for (const [values, path] of wrong) {
            try {
              ctx.output(values);
              messages.push('it was taken');
            } catch (error) {
              const isRight = error instanceof UnserializableValueError && path.test(error.message);
              messages.push(isRight || (error as Error).message);
            }
          }
          for (const values of [null, [1], 'text', 5]) {
            try {
              ctx.output(values as never);
              messages.push('it was taken');
            } catch (error) {
              messages.push((error as Error).name);
            }
          }
        },
      }),
    );
    await suite.until(run, 'finished');
    expect(messages.slice(0, 4)).toEqual([true, true, true, true]);
    expect(messages).not.toContain('it was taken');
    expect((await run.steps())[0].output).toBeNull();
  });

  test('IDEM-04 NUL, half characters, __proto__ keys and rich values come back as they were', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const odd = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "nested": {"__proto__": 2}}') as Record<
      string,
      unknown
    >;
    const rich = {
      at: new Date(0),
      big: 2n ** 64n,
      map: new Map([['a', new Set([1])]]),
      missing: undefined,
      minus: -0,
    };
    let read: (Record<string, any> | null)[] = [];
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          ctx.output({ text: 'a\0b\ud800c', '\0key': '\udc00' });
          ctx.output(odd);
        },
        two: (ctx) => ctx.output(rich),
        three: async (ctx) => {
          read = [await ctx.outputOf('one'), await ctx.outputOf('two')];
        },
      }),
    );
    await suite.until(run, 'finished');
    const [first, second] = read;
    expect(first).toMatchObject({ text: 'a\0b\ud800c', '\0key': '\udc00', constructor: 1 });
    expect(Object.getOwnPropertyDescriptor(first, '__proto__')!.value).toEqual({ polluted: true });
    expect(Object.getOwnPropertyDescriptor(first!.nested, '__proto__')!.value).toBe(2);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(second).toEqual(rich);
    expect(Object.is(second!.minus, -0)).toBe(true);
    expect((await run.steps())[1].output).toEqual(rich);
  });

  test('IDEM-05 the keys name run and step, and the attempt where they say so', async () => {
    const { workflows } = await boot();
    const keys: string[] = [];
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => {
          keys.push(ctx.stepIdempotencyKey, ctx.attemptIdempotencyKey);
          if (ctx.attempt === 1) ctx.reattempt();
          if (ctx.attempt === 2) ctx.pause();
        },
      }),
    );
    await suite.until(run, 'paused');
    await run.resumeAt('one');
    await suite.until(run, 'finished');
    const key = `wf:${run.id}:one`;
    expect(keys).toEqual([key, `${key}:1`, key, `${key}:2`, key, `${key}:3`]);
  });
});
