import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  CancelIf,
  InvalidTransitionError,
  NotInStepError,
  Step,
  StepTimedOutError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { attempts } from './support/attempts';
import { gate, workflowSuite } from './support/suite';

@Injectable()
class Clock {
  readonly name = 'the injected clock';
}

type Guard = (this: Guarded, ctx: StepContext) => unknown;

interface Script {
  cancel?: Guard;
  skip?: Guard;
  body?: (ctx: StepContext) => unknown;
  last?: (ctx: StepContext) => unknown;
}

const scripts = new Map<string, Script>();

/** What its guards and bodies do is said by each test. */
@Workflow()
class Guarded extends WorkflowOf<null, { key: string }> {
  constructor(
    readonly clock: Clock,
    readonly dataSource: DataSource,
  ) {
    super();
  }

  @CancelIf()
  cancelled(ctx: Ctx<this>) {
    return this.script(ctx).cancel?.call(this, ctx);
  }

  @Step({ skipIf: 'skipped' })
  async one(ctx: Ctx<this>) {
    await this.script(ctx).body?.(ctx);
  }

  @Step()
  async two() {}

  @Step({ skipIf: 'skipped' })
  async three(ctx: Ctx<this>) {
    await this.script(ctx).last?.(ctx);
  }

  skipped(ctx: Ctx<this>) {
    return this.script(ctx).skip?.call(this, ctx);
  }

  private script({ args }: Ctx<this>): Script {
    return scripts.get(args.key)!;
  }
}

function start(workflows: WorkflowService, script: Script) {
  const key = randomUUID();
  scripts.set(key, script);
  return workflows.start(Guarded, { args: { key } });
}

const asked: string[] = [];

@Workflow({ name: 'FlowParent' })
class Parent extends WorkflowOf {
  @CancelIf() parentFirst() {
    asked.push('parent 1');
  }
  @CancelIf() async parentSecond() {
    asked.push('parent 2');
  }
  @Step({ skipIf: () => void asked.push('skipIf') }) async one(ctx: Ctx<Parent>) {
    asked.push(`body ${ctx.attempt}`);
    if (ctx.attempt === 1) ctx.reattempt();
  }
}

@Workflow({ name: 'FlowChild' })
class Child extends Parent {
  @CancelIf() own() {
    asked.push('own');
    return 0;
  }
}

describe('guards', () => {
  const suite = workflowSuite();
  const boot = (options: Parameters<typeof suite.boot>[1] = {}) => suite.boot([Clock, Guarded], options);

  beforeAll(() => suite.sql('create table guard_notes (workflow_id text, note text)'));

  const notes = async (id: string) =>
    (await suite.sql<{ note: string }>('select note from guard_notes where workflow_id = $1 order by note', [id])).map(
      ({ note }) => note,
    );
  const write = (ctx: StepContext, note: string) =>
    ctx.manager.query('insert into guard_notes values ($1, $2)', [ctx.workflowId, note]);

  test('FLOW-01 skipIf truthy skips the step, and after the last one the run is finished; falsy lets the body run', async () => {
    const { workflows } = await boot();
    const bodies: string[] = [];
    const run = await start(workflows, {
      skip: () => 'a truthy text',
      body: () => bodies.push('one'),
      last: () => bodies.push('three'),
    });
    await suite.until(run, 'finished');
    expect(bodies).toEqual([]);
    expect(await attempts(run)).toEqual(['one#1 skipped', 'two#1 completed', 'three#1 skipped']);
    expect(await suite.trail(run)).toEqual([
      'started',
      'step_scheduled',
      'step_skipped',
      'step_scheduled',
      'step_started',
      'step_completed',
      'step_scheduled',
      'step_skipped',
      'finished',
    ]);
    const skips = (await run.events()).filter(({ name }) => name === 'step_skipped');
    expect(skips.map(({ actor }) => actor)).toEqual(['system', 'system']);

    const other = await start(workflows, { skip: () => '', body: () => bodies.push('one') });
    await suite.until(other, 'finished');
    expect(bodies).toEqual(['one']);
    expect(await attempts(other)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
  });

  test('FLOW-02 a cancel guard is asked before every step, and a truthy one cancels row and run', async () => {
    const { workflows } = await boot();
    const at: string[] = [];
    const bodies: string[] = [];
    const run = await start(workflows, {
      cancel: ({ stepName }) => at.push(stepName) && stepName === 'three',
      last: () => bodies.push('three'),
    });
    await suite.until(run, 'cancelled');
    expect(at).toEqual(['one', 'two', 'three']);
    expect(bodies).toEqual([]);
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 cancelled']);
    const events = await run.events();
    expect(events.slice(-2).map(({ name, actor }) => [name, actor])).toEqual([
      ['step_scheduled', 'system'],
      ['cancelled', 'system'],
    ]);
  });

  test("FLOW-03 guards are asked on each attempt: the parent's, the class's, then skipIf", async () => {
    const { workflows } = await suite.boot([Child]);
    asked.length = 0;
    await suite.until(await workflows.start(Child), 'finished');
    const round = ['parent 1', 'parent 2', 'own', 'skipIf'];
    expect(asked).toEqual([...round, 'body 1', ...round, 'body 2']);
  });

  test('FLOW-03 a cancel guard that says yes keeps skipIf from being asked', async () => {
    const { workflows } = await boot();
    let skipAsked = false;
    const run = await start(workflows, { cancel: () => true, skip: () => (skipAsked = true) });
    await suite.until(run, 'cancelled');
    expect(skipAsked).toBe(false);
  });

  test('FLOW-04 a verb from outside waits for the guards and meets their outcome', async () => {
    const { workflows } = await boot();
    const inGuard = gate();
    const go = gate();
    const run = await start(workflows, {
      cancel: async () => {
        inGuard.open();
        await go.opened;
        return true;
      },
    });
    await inGuard.opened;
    const refused = run.pause().catch((error: unknown) => error);
    await suite.eventually(
      async () =>
        (
          await suite.sql(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          )
        ).length > 0,
      'the pause waits for the lock',
    );
    go.open();
    expect(await refused).toMatchObject({ verb: 'pause', status: 'cancelled' });
    await expect(run.pause()).rejects.toThrow(InvalidTransitionError);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'cancelled']);
  });

  test('FLOW-04 the body runs without the lock', async () => {
    const { workflows } = await boot();
    const inBody = gate();
    const go = gate();
    const run = await start(workflows, {
      body: () => {
        inBody.open();
        return go.opened;
      },
    });
    await inBody.opened;
    expect((await run.pause({ lockTimeout: 5_000 })).status).toBe('paused');
    go.open();
    await suite.eventually(async () => (await run.steps())[0].status === 'completed', 'the body ended');
  });

  test('FLOW-05 a guard may be async, is called on the instance, and ctx.manager is its transaction', async () => {
    const { workflows } = await boot();
    const seen: unknown[] = [];
    const run = await start(workflows, {
      async skip(ctx) {
        if (ctx.stepName !== 'one') return false;
        seen.push(this.clock.name, ctx.manager.queryRunner?.isTransactionActive);
        await write(ctx, 'kept with the skip');
        const [{ lock }] = await ctx.manager.query(
          `select count(*)::int as lock from workflows where id = $1 and xmax::text = pg_current_xact_id()::text`,
          [ctx.workflowId],
        );
        seen.push(lock);
        return true;
      },
    });
    await suite.until(run, 'finished');
    expect(seen).toEqual(['the injected clock', true, 1]);
    expect(await notes(run.id)).toEqual(['kept with the skip']);
  });

  test("FLOW-06 a guard that throws: the body does not run, the guard's writes are gone, the row failed and the run paused", async () => {
    const { workflows, reported } = await boot();
    let ran = false;
    const run = await start(workflows, {
      skip: async (ctx) => {
        await write(ctx, 'rolled back');
        throw new RangeError('the guard broke');
      },
      body: () => (ran = true),
    });
    await suite.until(run, 'paused');
    expect(ran).toBe(false);
    expect(await notes(run.id)).toEqual([]);
    expect(await attempts(run)).toEqual(['one#1 failed, paused: RangeError']);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'step_failed', 'paused']);
    expect(reported).toEqual([
      {
        error: expect.objectContaining({ message: 'the guard broke' }),
        context: { workflowClass: 'Guarded', workflowId: run.id, stepName: 'one', attempt: 1, outcome: 'paused' },
      },
    ]);
  });

  test('FLOW-06 a guard whose query fails goes to the policies, also when it swallows the error', async () => {
    const { workflows } = await boot();
    const failing = (ctx: StepContext) => ctx.manager.query('select 1 / 0');
    const loud = await start(workflows, { cancel: failing });
    const silent = await start(workflows, {
      cancel: async (ctx) => {
        await write(ctx, 'lost');
        await failing(ctx).catch(() => undefined);
        return true;
      },
    });
    await suite.until(loud, 'paused');
    await suite.until(silent, 'paused');
    expect(await attempts(loud)).toEqual(['one#1 failed, paused: QueryFailedError']);
    const [row] = await silent.steps();
    expect(row.error!.message).toMatch(/a guard's query failed in the database/);
    expect(await notes(silent.id)).toEqual([]);
  });

  test('FLOW-06 a failing query behind a savepoint of the guard is its own affair', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, {
      cancel: async (ctx) => {
        if (ctx.stepName !== 'one') return;
        await write(ctx, 'before');
        await ctx.manager.transaction((inner) => inner.query('select 1 / 0')).catch(() => undefined);
        await write(ctx, 'behind');
      },
    });
    await suite.until(run, 'finished');
    expect(await notes(run.id)).toEqual(['before', 'behind']);
  });

  test.each(['commit', 'rollback'])(
    'FLOW-06 a guard that ends its transaction itself (%s) is an error',
    async (end) => {
      const { workflows } = await boot();
      const run = await start(workflows, { cancel: (ctx) => ctx.manager.query(end) });
      await suite.until(run, 'paused');
      expect((await run.steps())[0].error!.message).toMatch(/a guard ended its transaction itself/);
    },
  );

  test('FLOW-06 a verb in a guard is refused', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, { skip: (ctx) => ctx.cancel() });
    await suite.until(run, 'paused');
    expect(await attempts(run)).toEqual(['one#1 failed, paused: NotInStepError']);
    expect((await run.steps())[0].error!.message).toMatch(/cancel\(\) was called in a guard/);
    expect(NotInStepError.name).toBe('NotInStepError');
  });

  test.each<[string, Guard]>([
    ['never settles', () => new Promise(() => undefined)],
    ['has a query in flight', (ctx) => ctx.manager.query('select pg_sleep(60)')],
    [
      'swallows that its query was cancelled, and says yes',
      (ctx) =>
        ctx.manager.query('select pg_sleep(60)').then(
          () => true,
          () => true,
        ),
    ],
    [
      'goes on with the next query when one was cancelled',
      async (ctx) => {
        for (;;) await ctx.manager.query('select pg_sleep(60)').catch(() => undefined);
      },
    ],
  ])(
    'FLOW-06 guardTimeout ends a guard that %s: rolled back, the lock free, StepTimedOutError to the policies',
    async (_, guard) => {
      const { workflows, reported } = await boot({ guardTimeout: 100 });
      let ran = false;
      const run = await start(workflows, {
        async cancel(ctx) {
          await write(ctx, 'rolled back');
          return guard.call(this, ctx);
        },
        body: () => (ran = true),
      });
      await suite.until(run, 'paused');
      expect(ran).toBe(false);
      expect(await attempts(run)).toEqual(['one#1 failed, paused: StepTimedOutError']);
      expect((await run.steps())[0].error!.message).toMatch(/guards took longer than guardTimeout \(100 ms\)/);
      expect(reported).toEqual([expect.objectContaining({ error: expect.any(StepTimedOutError) })]);
      expect(await notes(run.id)).toEqual([]);
      expect((await run.cancel({ lockTimeout: 1_000 })).status).toBe('cancelled');
    },
  );

  test('FLOW-06 the timed-out guard leaves its connections in order for the others', async () => {
    const { workflows } = await boot({ guardTimeout: 100, poolSize: 3 });
    const stuck = await Promise.all(
      Array.from({ length: 4 }, () => start(workflows, { skip: (ctx) => ctx.manager.query('select pg_sleep(60)') })),
    );
    for (const run of stuck) await suite.until(run, 'paused');
    const fine = await start(workflows, { skip: async (ctx) => (await ctx.manager.query('select 1')).length === 0 });
    await suite.until(fine, 'finished');
    const idle = await suite.sql(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect(idle).toEqual([]);
  });

  test('FLOW-05 guards that need a connection of their own beside ctx.manager do not starve the pool', async () => {
    const { workflows } = await boot({ poolSize: 10 });
    const key = randomUUID();
    scripts.set(key, {
      async cancel() {
        await this.dataSource.query('select pg_sleep(0.01)');
        return false;
      },
    });
    const runs = await workflows.startMany(
      Guarded,
      Array.from({ length: 30 }, () => ({ args: { key } })),
    );
    for (const run of runs) expect(await suite.until(run, 'finished')).toBe('finished');
  });
});
