import {
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type FanOutBatch,
  type JobHandler,
  type StepContext,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { fanning, fanScript, membersOf } from './support/fan';
import { workflowSuite } from './support/suite';

const Fans = fanning('Fans');
const Catches = fanning('Catches', { onException: { action: 'skip' } });

@WorkflowJob({ name: 'send_mail', queue: 'mail', priority: 4 })
class SendMail implements JobHandler<{ to: string }> {
  async perform() {}
}

/** A job that no module lists. */
@WorkflowJob()
class Homeless implements JobHandler {
  async perform() {}
}

class Undecorated implements JobHandler {
  async perform() {}
}

@Workflow()
class Side extends WorkflowOf {
  @Step()
  async only() {}
}

const addMail = (_ctx: StepContext, batch: FanOutBatch) => batch.add(SendMail, { to: 'someone' });

describe('what a batch refuses', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  /** Leaves the members alone. */
  const boot = () => suite.boot([Fans, Catches, Side, SendMail], { worker: { queues: ['default'] } });

  test.each(['onComplete', 'onSuccess', 'onFailure'] as const)(
    'FAN-14 AMB-13 batch.%s throws that the workflow owns the batch’s end, and the policies decide',
    async (callback) => {
      const { workflows, reported } = await boot();
      const hook = (ctx: StepContext, batch: FanOutBatch) => {
        addMail(ctx, batch);
        (batch[callback] as unknown as (hook: () => void) => void)(() => undefined);
      };
      const [paused, skipped] = [
        await workflows.start(Fans, fanScript({ fan: hook })),
        await workflows.start(Catches, fanScript({ fan: hook })),
      ];
      await until(paused, 'paused');
      await until(skipped, 'finished');
      expect(await attempts(paused)).toEqual(['fan#1 failed, paused: WorkflowDefinitionError']);
      expect((await attempts(skipped))[0]).toBe('fan#1 skipped: WorkflowDefinitionError');
      expect((await paused.steps())[0].error!.message).toMatch(
        new RegExp(`^Fans, step "fan": batch\\.${callback} .*the workflow owns the batch's end`),
      );
      expect(await membersOf(sql, paused)).toEqual([]);
      expect(reported).not.toEqual([]);
    },
  );

  test('FAN-14 batch.add after the body returned throws, and adds nothing', async () => {
    const { workflows } = await boot();
    let kept!: FanOutBatch;
    const run = await workflows.start(
      Fans,
      fanScript({
        fan: (ctx, batch) => {
          kept = batch;
          addMail(ctx, batch);
        },
      }),
    );
    await until(run, 'waiting');
    expect(() => kept.add(SendMail, { to: 'late' })).toThrow(
      /Fans, step "fan": batch\.add was called after the body returned/,
    );
    expect(await membersOf(sql, run)).toHaveLength(1);
  });

  describe('batch.add', () => {
    type Add = (ctx: StepContext, batch: FanOutBatch) => unknown;
    type Refused = readonly [what: string, add: Add, message: RegExp];
    const handler = (value: unknown) => (_ctx: StepContext, batch: FanOutBatch) =>
      batch.add(value as typeof SendMail, { to: '' });
    const options = (value: unknown) => (_ctx: StepContext, batch: FanOutBatch) =>
      batch.add(SendMail, { to: '' }, value as object);
    const args = (value: unknown) => (_ctx: StepContext, batch: FanOutBatch) =>
      batch.add(SendMail, value as { to: string });
    const circular: Record<string, unknown> = {};
    circular.self = circular;

    const HANDLERS: Refused[] = [
      ['a class without @WorkflowJob', handler(Undecorated), /"fan": Undecorated is no job/],
      ['a job that is not loaded here', handler(Homeless), /Homeless is no job of this application/],
      ['a workflow class', handler(Side), /Side is no job/],
      ['a name', handler('send_mail'), /"send_mail" is no job/],
      ['null', handler(null), /null is no job/],
      ['nothing', handler(undefined), /undefined is no job/],
      ['an instance', handler(new SendMail()), /SendMail \{\} is no job/],
    ];
    const OPTIONS: Refused[] = [
      ['an unknown option', options({ prio: 1 }), /"options\.prio" is 1.*queue, priority, wait/],
      ['waitUntil', options({ waitUntil: new Date() }), /options\.waitUntil/],
      ['options that are none', options(5), /"options" is 5/],
      ['null options', options(null), /"options" is null/],
      ['a list of options', options([]), /"options" is \[\]/],
      ['an empty queue', options({ queue: '' }), /"options\.queue" is ""/],
      ['a queue that is no text', options({ queue: 7 }), /"options\.queue" is 7/],
      ['a queue that is too long', options({ queue: 'q'.repeat(256) }), /options\.queue/],
      ['half a priority', options({ priority: 1.5 }), /"options\.priority" is 1\.5/],
      ['too large a priority', options({ priority: 2 ** 31 }), /options\.priority/],
      ['a priority as text', options({ priority: '1' }), /options\.priority/],
      ['a negative wait', options({ wait: -1 }), /"options\.wait" is -1/],
      ['a wait that is no duration', options({ wait: 'soon' }), /"options\.wait" is "soon"/],
      ['an endless wait', options({ wait: Infinity }), /"options\.wait" is Infinity/],
    ];

    test.each([
      ['a handler that is none', HANDLERS],
      ['options that cannot be right', OPTIONS],
    ] as const)(
      'FAN-01 FAN-12 %s: it throws WorkflowDefinitionError and the policies decide',
      async (_what, refused) => {
        const { workflows } = await boot();
        for (const [what, add, message] of refused) {
          const error = await refusalOf(workflows, add);
          expect([what, error]).toEqual([
            what,
            { class: 'WorkflowDefinitionError', message: expect.stringMatching(message) },
          ]);
        }
      },
    );

    test('FAN-01 FAN-12 arguments that cannot be stored, or are too large: it throws and the policies decide', async () => {
      const { workflows } = await boot();
      const unstorable = [args({ to: () => '' }), args(circular)];
      for (const add of unstorable) {
        const error = await refusalOf(workflows, add);
        expect(error).toEqual({
          class: 'UnserializableValueError',
          message: expect.stringMatching(/arguments of job send_mail/),
        });
      }
      const tooLarge = await refusalOf(workflows, args({ to: 'x'.repeat(131_072) }));
      expect(tooLarge).toEqual({
        class: 'PayloadTooLargeError',
        message: expect.stringMatching(/arguments of job send_mail/),
      });
      const run = await workflows.start(
        Fans,
        fanScript({ fan: args({ to: 'x'.repeat(131_072 - '{"to":""}'.length) }) }),
      );
      expect(await until(run, 'waiting', 'paused')).toBe('waiting');
    });

    /** What became of a body that adds one good member, and then this. */
    async function refusalOf(workflows: WorkflowService, add: Add) {
      const run = await workflows.start(
        Fans,
        fanScript({
          fan: (ctx, batch) => {
            addMail(ctx, batch);
            add(ctx, batch);
          },
        }),
      );
      await until(run, 'paused');
      expect(await membersOf(sql, run)).toEqual([]);
      const [row] = await run.steps();
      expect(row.status).toBe('failed');
      return { class: row.error!.class, message: row.error!.message };
    }

    test('FAN-01 a body that catches the refusal goes on with the members it could add', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(
        Fans,
        fanScript({
          fan: (ctx, batch) => {
            addMail(ctx, batch);
            expect(() => options({ wait: NaN })(ctx, batch)).toThrow(/options\.wait/);
            addMail(ctx, batch);
          },
        }),
      );
      await until(run, 'waiting');
      expect(await membersOf(sql, run)).toEqual(['fan 1 [0] scheduled', 'fan 1 [1] scheduled']);
    });
  });
});
