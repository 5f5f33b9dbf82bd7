import { randomUUID } from 'node:crypto';
import {
  CancelIf,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { attempts } from './support/attempts';
import { gate, workflowSuite } from './support/suite';

type Body = (ctx: StepContext<Account>) => unknown;

interface Script {
  pay: Body;
  guard?: Body;
  next?: Body;
}

const scripts = new Map<string, Script>();

@Entity('accounts')
class Account {
  @PrimaryColumn() id!: string;
  @Column({ type: 'int' }) balance!: number;
}

/** What its body does is said by each test. */
@Workflow({ name: 'Transactional', subject: Account })
class Transactional extends WorkflowOf<Account, { key: string }> {
  @Step({ transactional: true })
  async pay(ctx: Ctx<this>) {
    await scripts.get(ctx.args.key)!.pay(ctx);
  }

  @Step()
  async next(ctx: Ctx<this>) {
    await scripts.get(ctx.args.key)!.next?.(ctx);
  }
}

@Workflow({ name: 'GuardedTransactional' })
class GuardedTransactional extends Transactional {
  @CancelIf()
  async unwanted(ctx: Ctx<this>) {
    return scripts.get(ctx.args.key)!.guard?.(ctx);
  }
}

function scripted(script: Script | Body) {
  const key = randomUUID();
  scripts.set(key, typeof script === 'function' ? { pay: script } : script);
  return { args: { key } };
}

const start = (workflows: WorkflowService, script: Script | Body) => workflows.start(Transactional, scripted(script));

const write = (ctx: StepContext, note: string) =>
  ctx.manager.query('insert into ledger values ($1, $2)', [ctx.workflowId, note]);

/** A database error as a deadlock or a serialization failure raises it. */
const raise = (ctx: StepContext, state: string) =>
  ctx.manager.query(`do $$ begin raise exception 'raised' using errcode = '${state}'; end $$`);

describe('transactional steps', () => {
  const suite = workflowSuite();
  const boot = () => suite.boot([Transactional], { entities: [Account] });

  beforeAll(async () => {
    await suite.sql(
      'create table ledger (workflow_id text, note text, unique (workflow_id, note) deferrable initially deferred)',
    );
    await suite.sql('create table accounts (id text primary key, balance int not null)');
  });

  const ledger = async ({ id }: { id: string }) =>
    (await suite.sql<{ note: string }>('select note from ledger where workflow_id = $1 order by note', [id])).map(
      ({ note }) => note,
    );

  test('FLOW-17 what the body writes, its outcome and the next row commit together', async () => {
    const { workflows } = await boot();
    const written = gate();
    const go = gate();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'paid');
      ctx.output({ paid: true });
      written.open();
      await go.opened;
    });
    await written.opened;
    expect(await ledger(run)).toEqual([]);
    go.open();
    await suite.until(run, 'finished');
    const [same] = await suite.sql<{ together: boolean }>(
      `select bool_and(e.xmin = l.xmin) as together from ledger l join workflow_events e on e.workflow_id::text = l.workflow_id
       where l.workflow_id = $1 and e.id in (select id from workflow_events w where w.workflow_id::text = $1 order by id offset 3 limit 2)`,
      [run.id],
    );
    expect(same.together).toBe(true);
    expect(await ledger(run)).toEqual(['paid']);
    expect((await run.steps())[0].output).toEqual({ paid: true });
  });

  test('FLOW-17 a throw rolls the writes back and goes to the policies', async () => {
    const { workflows, reported } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'lost');
      throw new RangeError('after the write');
    });
    await suite.until(run, 'paused');
    expect(await ledger(run)).toEqual([]);
    expect(await attempts(run)).toEqual(['pay#1 failed, paused: RangeError']);
    expect(reported).toHaveLength(1);
  });

  test('FLOW-17 reattempt rolls the writes back and is recorded; the next attempt commits its own', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, `attempt ${ctx.attempt}`);
      if (ctx.attempt === 1) ctx.reattempt();
    });
    await suite.until(run, 'finished');
    expect(await ledger(run)).toEqual(['attempt 2']);
    expect(await attempts(run)).toEqual(['pay#1 failed, reattempted', 'pay#2 completed', 'next#1 completed']);
  });

  test.each<[string, Body, 'paused' | 'finished' | 'cancelled', string]>([
    ['pause', (ctx) => ctx.pause(), 'paused', 'pay#1 completed, paused'],
    ['finish', (ctx) => ctx.finish(), 'finished', 'pay#1 completed, finished'],
    ['skip', (ctx) => ctx.skip(), 'finished', 'pay#1 skipped'],
    ['cancel', (ctx) => ctx.cancel(), 'cancelled', 'pay#1 cancelled'],
  ])('FLOW-17 %s commits the writes with its outcome', async (_, verb, status, first) => {
    const { workflows } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'kept');
      verb(ctx);
    });
    await suite.until(run, status);
    expect(await ledger(run)).toEqual(['kept']);
    expect((await attempts(run))[0]).toBe(first);
  });

  test('FLOW-17 an outcome whose event cannot be written takes the writes back with it', async () => {
    const { workflows } = await boot();
    await suite.sql(`
      create function refuse_completion() returns trigger language plpgsql as $$
      begin raise exception 'no completion today' using errcode = 'P0001'; end $$`);
    await suite.sql(`create trigger refuse before insert on workflow_events for each row
      when (new.name = 'step_completed') execute function refuse_completion()`);
    try {
      const run = await start(workflows, async (ctx) => {
        await write(ctx, 'lost');
        ctx.output({ half: true });
      });
      await suite.until(run, 'paused');
      expect(await ledger(run)).toEqual([]);
      const [row, ...others] = await run.steps();
      expect(others).toEqual([]);
      expect(row).toMatchObject({ status: 'failed', error: { message: 'no completion today' } });
    } finally {
      await suite.sql('drop trigger refuse on workflow_events');
    }
  });

  test('FLOW-17 a constraint that fails only at the commit takes the outcome back with it', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'twice');
      await write(ctx, 'twice');
    });
    await suite.until(run, 'paused');
    expect(await ledger(run)).toEqual([]);
    expect(await attempts(run)).toEqual(['pay#1 failed, paused: QueryFailedError']);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'step_started', 'step_failed', 'paused']);
  });

  test.each(['40P01', '40001'])('FLOW-17 %s runs the body again in the same attempt, from nothing', async (state) => {
    const { workflows, reported } = await boot();
    const seen: number[] = [];
    const run = await start(workflows, async (ctx) => {
      seen.push(ctx.attempt);
      await write(ctx, `try ${seen.length}`);
      if (seen.length === 1) ctx.output({ stale: true });
      if (seen.length < 3) await raise(ctx, state);
    });
    await suite.until(run, 'finished');
    expect(seen).toEqual([1, 1, 1]);
    expect(await ledger(run)).toEqual(['try 3']);
    expect((await run.steps())[0].output).toBeNull();
    expect(await attempts(run)).toEqual(['pay#1 completed', 'next#1 completed']);
    expect(reported).toEqual([]);
  });

  test('FLOW-17 AMB-62 a body whose connection is cut runs again once it has ended, however long that takes', async () => {
    const { workflows, reported } = await boot();
    const cut = gate();
    const goOn = gate();
    let tries = 0;
    const run = await start(workflows, async (ctx) => {
      tries += 1;
      await write(ctx, `try ${tries}`);
      if (tries > 1) return;
      const [{ pid }] = await ctx.manager.query<{ pid: number }[]>('select pg_backend_pid() as pid');
      await suite.sql('select pg_terminate_backend($1)', [pid]);
      cut.open();
      await goOn.opened;
      await write(ctx, 'too late');
    });
    await cut.opened;
    // Longer than a body has that was asked to stop.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(tries).toBe(1);
    goOn.open();
    await suite.until(run, 'finished');
    expect(await ledger(run)).toEqual(['try 2']);
    expect(await attempts(run)).toEqual(['pay#1 completed', 'next#1 completed']);
    expect(reported).toEqual([]);
  });

  test('FLOW-17 after three deadlocks the policies decide, once', async () => {
    const { workflows, reported } = await boot();
    let tries = 0;
    const run = await start(workflows, async (ctx) => {
      tries += 1;
      await write(ctx, 'lost');
      await raise(ctx, '40P01');
    });
    await suite.until(run, 'paused');
    expect(tries).toBe(3);
    expect(reported).toHaveLength(1);
    expect(await ledger(run)).toEqual([]);
    expect(await attempts(run)).toEqual(['pay#1 failed, paused: QueryFailedError']);
  });

  test('FLOW-17 a deadlock that the body wraps in an error of its own counts all the same', async () => {
    const { workflows } = await boot();
    let tries = 0;
    const run = await start(workflows, async (ctx) => {
      if ((tries += 1) > 1) return;
      await raise(ctx, '40001').catch((cause: unknown) => {
        throw new Error('the payment failed', { cause });
      });
    });
    await suite.until(run, 'finished');
    expect(tries).toBe(2);
  });

  test('FLOW-17 a real deadlock between two steps ends with both done', async () => {
    const { workflows } = await boot();
    await suite.sql(`insert into accounts values ('a', 0), ('b', 0)`);
    const both = gate();
    let inside = 0;
    const add = (ctx: StepContext, id: string) =>
      ctx.manager.query('update accounts set balance = balance + 1 where id = $1', [id]);
    const transfer = (first: string, second: string) => async (ctx: StepContext) => {
      await add(ctx, first);
      if ((inside += 1) === 2) both.open();
      await both.opened;
      await add(ctx, second);
    };
    const runs = await Promise.all([start(workflows, transfer('a', 'b')), start(workflows, transfer('b', 'a'))]);
    for (const run of runs) await suite.until(run, 'finished');
    expect(inside).toBeGreaterThanOrEqual(3);
    expect(await suite.sql('select id, balance from accounts order by id')).toEqual([
      { id: 'a', balance: 2 },
      { id: 'b', balance: 2 },
    ]);
  });

  test('FLOW-17 a body that runs again has its subject as it is now, without what the failed try did to it', async () => {
    const { workflows } = await boot();
    await suite.sql(`insert into accounts values ('subject', 100)`);
    const seen: number[] = [];
    const run = await workflows.start(Transactional, {
      subject: Object.assign(new Account(), { id: 'subject' }),
      ...scripted(async (ctx) => {
        const account = ctx.requireSubject();
        seen.push(account.balance);
        account.balance += 10;
        await ctx.manager.save(account);
        if (seen.length > 1) return;
        await raise(ctx, '40001');
      }),
    });
    await suite.until(run, 'finished');
    expect(seen).toEqual([100, 100]);
    expect(await suite.sql(`select balance from accounts where id = 'subject'`)).toEqual([{ balance: 110 }]);
  });

  test('FLOW-17 a transaction found aborted counts as a throw', async () => {
    const { workflows, reported } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'lost');
      await ctx.manager.query('select 1 / 0').catch(() => undefined);
    });
    await suite.until(run, 'paused');
    expect(await ledger(run)).toEqual([]);
    expect((await run.steps())[0].error!.message).toMatch(
      /a statement in the step's transaction failed, and the body went on/,
    );
    expect(reported).toHaveLength(1);
  });

  test("FLOW-17 what fails behind a savepoint of the body's is its own affair", async () => {
    const { workflows } = await boot();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'outer');
      await ctx.manager
        .transaction(async (inner) => {
          await inner.query('insert into ledger values ($1, $2)', [ctx.workflowId, 'inner']);
          await inner.query('select 1 / 0');
        })
        .catch(() => undefined);
    });
    await suite.until(run, 'finished');
    expect(await ledger(run)).toEqual(['outer']);
  });

  test.each<[string, Body]>([
    ['COMMIT', (ctx) => ctx.manager.query('commit')],
    ['ROLLBACK', (ctx) => ctx.manager.query('rollback')],
    ['commitTransaction()', (ctx) => ctx.manager.queryRunner!.commitTransaction()],
    ['COMMIT and a BEGIN of its own', (ctx) => ctx.manager.query('commit').then(() => ctx.manager.query('begin'))],
    ['COMMIT AND CHAIN', (ctx) => ctx.manager.query('commit and chain')],
  ])('FLOW-17 a body that ends the transaction itself (%s) is an error', async (_, end) => {
    const { workflows } = await boot();
    const run = await start(workflows, end);
    await suite.until(run, 'paused');
    expect(await attempts(run)).toEqual(['pay#1 failed, paused: Error']);
    expect((await run.steps())[0].error!.message).toMatch(/ended the step's transaction itself/);
    const idle = await suite.sql(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect(idle).toEqual([]);
  });

  test('FLOW-17 cancelled meanwhile: the writes are rolled back, and the outcome is ignored', async () => {
    const { workflows, reported } = await boot();
    const written = gate();
    const go = gate();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'unwanted');
      written.open();
      await go.opened;
    });
    await written.opened;
    // The body holds no lock: the cancel goes through at once.
    expect((await run.cancel({ lockTimeout: 5_000 })).status).toBe('cancelled');
    go.open();
    await suite.eventually(
      async () => (await suite.trail(run)).includes('late_completion_ignored'),
      'the outcome came',
    );
    expect(await ledger(run)).toEqual([]);
    expect(await attempts(run)).toEqual(['pay#1 cancelled']);
    expect((await suite.trail(run)).slice(-2)).toEqual(['cancelled', 'late_completion_ignored']);
    expect(reported).toEqual([]);
  });

  test('FLOW-17 paused meanwhile: the writes commit, and the next step waits for resume', async () => {
    const { workflows } = await boot();
    const written = gate();
    const go = gate();
    const run = await start(workflows, async (ctx) => {
      await write(ctx, 'kept');
      written.open();
      await go.opened;
    });
    await written.opened;
    await run.pause({ lockTimeout: 5_000 });
    go.open();
    await suite.eventually(async () => (await ledger(run)).length === 1, 'the step commits');
    expect((await run.reload()).status).toBe('paused');
    expect(await attempts(run)).toEqual(['pay#1 completed', 'next#1 scheduled']);
    await run.resume();
    await suite.until(run, 'finished');
  });

  test('FLOW-17 guards commit before: ctx.manager of the body is another transaction, without the lock', async () => {
    const { workflows } = await suite.boot([GuardedTransactional]);
    const transactions: string[] = [];
    const look = async (ctx: StepContext) => {
      const [{ id }] = await ctx.manager.query('select pg_current_xact_id()::text as id');
      transactions.push(id);
    };
    const run = await workflows.start(GuardedTransactional, {
      ...scripted({
        guard: async (ctx) => {
          if (ctx.stepName !== 'pay') return;
          await write(ctx, 'by the guard');
          await look(ctx);
        },
        pay: async (ctx) => {
          await look(ctx);
          await write(ctx, 'lost');
          throw new Error('the body failed');
        },
      }),
    });
    await suite.until(run, 'paused');
    expect(new Set(transactions).size).toBe(2);
    expect(await ledger(run)).toEqual(['by the guard']);
  });

  test('FLOW-17 a run started through ctx.manager exists if and only if the step commits', async () => {
    const { workflows } = await boot();
    const run = await start(workflows, async (ctx) => {
      const child = await workflows.start(Transactional, { ...scripted(() => undefined), manager: ctx.manager });
      await write(ctx, child.id);
      if (ctx.attempt === 1) ctx.reattempt();
    });
    await suite.until(run, 'finished');
    const [child] = await ledger(run);
    await suite.until(child, 'finished');
    const [{ count }] = await suite.sql(`select count(*)::int as count from workflows where id::text > $1`, [run.id]);
    expect(count).toBe(1);
  });
});
