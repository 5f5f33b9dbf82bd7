import {
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type ErrorContext,
  type WorkflowService,
  type WorkflowType,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import {
  Declined,
  ReadTimeout,
  scripted,
  scriptOf,
  throwing,
  Timeout,
  type Body,
  type Script,
} from './support/failing';
import { workflowSuite } from './support/suite';

const failing =
  (make: () => Error): Body =>
  () => {
    throw make();
  };

/** Each policy says its name by the attempt's outcome. */
@Workflow({
  onException: [
    { action: 'skip', matching: 'NeverThrown' },
    { action: 'pause' },
    { action: 'reattempt', matching: Timeout, maxReattempts: 1 },
    { action: 'cancel', matching: ['Declined', RangeError] },
    { action: 'skip', matching: Declined },
  ],
})
class Ranked extends WorkflowOf<null, { key: string }> {
  @Step() async plain(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

@Workflow({ onException: [{ action: 'cancel', matching: Declined }, { action: 'cancel' }] })
class OwnPolicies extends WorkflowOf<null, { key: string }> {
  @Step({ onException: [{ action: 'pause' }, { action: 'skip', matching: Timeout }] })
  async named(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
  @Step({ onException: { action: 'pause', matching: 'NeverThrown' } }) async falls(ctx: Ctx<this>) {
    if (scriptOf(ctx).guard) throw new Declined();
  }
}

@Workflow({ onException: { action: 'reattempt', wait: '1 hour' } })
class Later extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

const waits: number[] = [];

@Workflow({
  onException: {
    action: 'reattempt',
    wait: (number) => {
      waits.push(number);
      return 0;
    },
    maxReattempts: 3,
    report: 'terminal_only',
  },
})
class Bounded extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

@Workflow({ onException: { action: 'reattempt' } })
class Unbounded extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

@Workflow({ onException: { action: 'reattempt', maxReattempts: 1, terminalAction: 'cancel' } })
class ThenCancel extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

@Workflow({ onException: { action: 'reattempt', maxReattempts: 1, terminalAction: 'skip' } })
class ThenSkip extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
  @Step() async next() {}
}

@Workflow({
  onException: [
    { action: 'cancel', matching: Timeout, report: 'never' },
    { action: 'skip', matching: Declined, report: 'terminal_only' },
    { action: 'reattempt', maxReattempts: 1, report: 'always' },
  ],
})
class Reports extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

let returned: unknown;

@Workflow({ onException: { action: 'reattempt', wait: () => returned as number } })
class Rubbish extends WorkflowOf<null, { key: string }> {
  @Step() async only(ctx: Ctx<this>) {
    await scriptOf(ctx).body?.(ctx);
  }
}

describe('exception policies', () => {
  const suite = workflowSuite();
  const start = (workflows: WorkflowService, type: WorkflowType<WorkflowOf<null, { key: string }>>, script: Script) =>
    workflows.start(type, scripted(script));

  test('EXC-04 matching takes a class, a name along the prototype chain, or a list; EXC-05 a fitting one beats a blanket one', async () => {
    const { workflows } = await suite.boot([Ranked]);
    const outcome = async (error: Error) => {
      const run = await start(workflows, Ranked, { body: throwing(error) });
      await suite.until(run, 'finished', 'cancelled', 'paused');
      return (await attempts(run))[0];
    };
    expect(await outcome(new Timeout())).toBe('plain#1 failed, reattempted: Timeout');
    expect(await outcome(new ReadTimeout())).toBe('plain#1 failed, reattempted: ReadTimeout');
    // The first declared of two that fit.
    expect(await outcome(new Declined())).toBe('plain#1 failed, cancelled: Declined');
    expect(await outcome(new (class DeclinedByBank extends Declined {})())).toBe(
      'plain#1 failed, cancelled: DeclinedByBank',
    );
    expect(await outcome(new RangeError())).toBe('plain#1 failed, cancelled: RangeError');
    // A name needs no class that is loaded: this one is another class of that name.
    const elsewhere = { Declined: class extends Error {} };
    Object.defineProperty(elsewhere.Declined, 'name', { value: 'Declined' });
    expect(await outcome(new elsewhere.Declined())).toBe('plain#1 failed, cancelled: Declined');
    expect(await outcome(new TypeError())).toBe('plain#1 failed, paused: TypeError');
  });

  test("EXC-05 the step's policies come before the class's, its blanket one too", async () => {
    const { workflows } = await suite.boot([OwnPolicies]);
    const skipped = await start(workflows, OwnPolicies, { body: throwing(new Timeout()) });
    await suite.until(skipped, 'finished');
    expect(await attempts(skipped)).toEqual(['named#1 skipped: Timeout', 'falls#1 completed']);
    const paused = await start(workflows, OwnPolicies, { body: throwing(new Declined()) });
    await suite.until(paused, 'paused');
    const cancelled = await start(workflows, OwnPolicies, { guard: () => true });
    await suite.until(cancelled, 'cancelled');
    expect(await attempts(cancelled)).toEqual(['named#1 completed', 'falls#1 failed, cancelled: Declined']);
  });

  test('EXC-06 reattempt fails the row with the error and schedules the next attempt after wait', async () => {
    const { workflows } = await suite.boot([Later]);
    const run = await start(workflows, Later, { body: failing(() => new Timeout()) });
    await suite.eventually(async () => (await run.steps()).length === 2, 'the next attempt is scheduled');
    expect(await attempts(run)).toEqual(['only#1 failed, reattempted: Timeout', 'only#2 scheduled']);
    const [first, second] = await run.steps();
    expect(second.availableAt!.getTime() - first.finishedAt!.getTime()).toBe(60 * 60 * 1_000);
    expect((await run.reload()).status).toBe('ready');
    expect((await suite.trail(run)).slice(-2)).toEqual(['step_reattempted', 'step_scheduled']);
    await run.cancel();
  });

  test('EXC-06 without wait the next attempt is due at once, and EXC-08 without maxReattempts there is no bound', async () => {
    const { workflows } = await suite.boot([Unbounded]);
    const run = await start(workflows, Unbounded, {
      body: throwing(...Array.from({ length: 12 }, () => new Timeout())),
    });
    await suite.until(run, 'finished');
    expect(await run.steps()).toHaveLength(13);
  });

  test('EXC-07 cancel ends the run with the row failed; skip goes on, the error kept on the skipped row', async () => {
    const { workflows } = await suite.boot([Ranked, OwnPolicies]);
    const cancelled = await start(workflows, Ranked, { body: throwing(new RangeError()) });
    await suite.until(cancelled, 'cancelled');
    expect(await suite.trail(cancelled)).toEqual([
      'started',
      'step_scheduled',
      'step_started',
      'step_failed',
      'cancelled',
    ]);
    const skipped = await start(workflows, OwnPolicies, { body: throwing(new Timeout('too slow')) });
    await suite.until(skipped, 'finished');
    expect((await skipped.steps())[0]).toMatchObject({
      status: 'skipped',
      error: { class: 'Timeout', message: 'too slow' },
    });
    expect((await suite.trail(skipped)).slice(0, 4)).toEqual([
      'started',
      'step_scheduled',
      'step_started',
      'step_skipped',
    ]);
  });

  test('EXC-08 after n reattempts the next failure takes the terminal action: pause, unless told otherwise', async () => {
    const { workflows } = await suite.boot([Bounded, ThenCancel, ThenSkip]);
    waits.length = 0;
    const body = failing(() => new Timeout());
    const paused = await start(workflows, Bounded, { body });
    await suite.until(paused, 'paused');
    expect(await attempts(paused)).toEqual([
      'only#1 failed, reattempted: Timeout',
      'only#2 failed, reattempted: Timeout',
      'only#3 failed, reattempted: Timeout',
      'only#4 failed, paused: Timeout',
    ]);
    expect(waits).toEqual([1, 2, 3]);
    const cancelled = await start(workflows, ThenCancel, { body });
    await suite.until(cancelled, 'cancelled');
    expect(await attempts(cancelled)).toEqual([
      'only#1 failed, reattempted: Timeout',
      'only#2 failed, cancelled: Timeout',
    ]);
    const skipped = await start(workflows, ThenSkip, { body });
    await suite.until(skipped, 'finished');
    expect(await attempts(skipped)).toEqual([
      'only#1 failed, reattempted: Timeout',
      'only#2 skipped: Timeout',
      'next#1 completed',
    ]);
  });

  test('EXC-09 after a pause and resume the count starts at nothing', async () => {
    const { workflows } = await suite.boot([Bounded]);
    waits.length = 0;
    const run = await start(workflows, Bounded, { body: failing(() => new Timeout()) });
    await suite.until(run, 'paused');
    expect(await run.steps()).toHaveLength(4);
    await run.resume();
    await suite.eventually(async () => (await run.steps()).length === 8, 'three more reattempts');
    await suite.until(run, 'paused');
    expect((await attempts(run)).slice(4)).toEqual([
      'only#5 failed, reattempted: Timeout',
      'only#6 failed, reattempted: Timeout',
      'only#7 failed, reattempted: Timeout',
      'only#8 failed, paused: Timeout',
    ]);
    expect(waits).toEqual([1, 2, 3, 1, 2, 3]);
  });

  test("EXC-09 AMB-26 a body's own reattempts count too", async () => {
    const { workflows } = await suite.boot([Bounded]);
    const run = await start(workflows, Bounded, {
      body: (ctx) => {
        if (ctx.attempt <= 3) ctx.reattempt();
        throw new Timeout();
      },
    });
    await suite.until(run, 'paused');
    expect((await attempts(run)).at(-1)).toBe('only#4 failed, paused: Timeout');
    expect(await run.steps()).toHaveLength(4);
  });

  test.each<[string, unknown]>([
    ['text', 'soon'],
    ['a negative number', -1],
    ['NaN', NaN],
    ['undefined', undefined],
    ['a promise', Promise.resolve(5)],
    ['a date', new Date()],
  ])('EXC-08 a wait function that returns %s pauses the run, the error being the cause', async (_, value) => {
    returned = value;
    const { workflows, reported } = await suite.boot([Rubbish]);
    const run = await start(workflows, Rubbish, { body: failing(() => new Timeout('first')) });
    await suite.until(run, 'paused');
    const { error } = (await run.steps())[0];
    expect(error).toMatchObject({ class: 'WorkflowDefinitionError', causes: [{ class: 'Timeout', message: 'first' }] });
    expect(error!.message).toMatch(/Rubbish, step "only".*onException\.wait\(1\)/);
    expect(reported).toHaveLength(1);
  });

  test('EXC-10 always reports every failed attempt; never reports none, and the row keeps the error', async () => {
    const { workflows, reported } = await suite.boot([Reports]);
    const always = await start(workflows, Reports, { body: failing(() => new TypeError()) });
    await suite.until(always, 'paused');
    await suite.eventually(() => reported.length === 2, 'both attempts are reported');
    expect(reported.map(({ context }) => context.outcome)).toEqual(['reattempted', 'paused']);
    const never = await start(workflows, Reports, { body: failing(() => new Timeout('quiet')) });
    await suite.until(never, 'cancelled');
    expect((await never.steps())[0].error).toMatchObject({ class: 'Timeout', message: 'quiet' });
    await suite.until(await start(workflows, Reports, {}), 'finished');
    expect(reported).toHaveLength(2);
  });

  test('EXC-11 terminal_only reports the attempt that takes the terminal action, and what is not reattempted', async () => {
    const { workflows, reported } = await suite.boot([Reports, Bounded]);
    const contexts = (id: string): ErrorContext[] =>
      reported.filter(({ context }) => context.workflowId === id).map(({ context }) => context);
    const bounded = await start(workflows, Bounded, { body: failing(() => new Timeout()) });
    await suite.until(bounded, 'paused');
    await suite.eventually(() => contexts(bounded.id).length > 0, 'it is reported');
    expect(contexts(bounded.id)).toEqual([expect.objectContaining({ attempt: 4, outcome: 'paused' })]);
    const skipped = await start(workflows, Reports, { body: failing(() => new Declined()) });
    await suite.until(skipped, 'finished');
    await suite.eventually(() => contexts(skipped.id).length > 0, 'it is reported');
    expect(contexts(skipped.id)).toEqual([expect.objectContaining({ attempt: 1, outcome: 'skipped' })]);
  });

  test('EXC-14 what the body catches itself is no failure', async () => {
    const { workflows, reported } = await suite.boot([Unbounded]);
    const run = await start(workflows, Unbounded, {
      body: async (ctx) => {
        try {
          await ctx.manager.query('select 1 / 0');
        } catch {
          ctx.output({ fallback: true });
        }
      },
    });
    await suite.until(run, 'finished');
    expect((await run.steps())[0]).toMatchObject({ status: 'completed', error: null, output: { fallback: true } });
    expect(reported).toEqual([]);
  });

  test('EXC-15 whatever the outcome, the row is executed once and never again', async () => {
    const { workflows } = await suite.boot([Ranked, Later, OwnPolicies]);
    let bodies = 0;
    const body = (make: () => Error) => () => {
      bodies += 1;
      throw make();
    };
    const runs = [
      await start(workflows, Ranked, { body: body(() => new TypeError()) }),
      await start(workflows, Ranked, { body: body(() => new Declined()) }),
      await start(workflows, Later, { body: body(() => new Error()) }),
      await start(workflows, OwnPolicies, { body: body(() => new Timeout()) }),
    ];
    await suite.until(runs[0], 'paused');
    await suite.until(runs[1], 'cancelled');
    await suite.eventually(async () => (await runs[2].steps()).length === 2, 'the next attempt is scheduled');
    await suite.until(runs[3], 'finished');
    // The worker has looked again since: this run came after them.
    await suite.until(await start(workflows, Ranked, {}), 'finished');
    expect(bodies).toBe(4);
    const rows = await suite.sql(
      `select claim_no, job_attempt, available_at is null as off from workflow_steps
       where workflow_id = any($1) and status in ('failed', 'skipped')`,
      [runs.map(({ id }) => id)],
    );
    expect(rows.map(({ claim_no }) => claim_no)).toEqual([1, 1, 1, 1]);
    await runs[2].cancel();
  });
});
