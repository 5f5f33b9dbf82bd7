import { Step, Workflow, WorkflowOf, type Ctx, type SignalOptions, type WorkflowHandle } from 'nestjs-pg-workflows';
import { allRows } from './support/rows';
import { Paid, Signalled, signalScript, signalsOf } from './support/signalled';
import { workflowSuite, type TestApp } from './support/suite';

class Undo extends Error {}

const ran: string[] = [];

@Workflow()
class Waits extends WorkflowOf {
  @Step({ waitFor: Paid })
  async pay(ctx: Ctx<this, typeof Paid>) {
    ran.push(`${ctx.workflowId} ${ctx.receivedSignal.payload.amount}`);
  }
}

describe("a signal in the caller's transaction", () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  // The poll is of no help: what runs was announced.
  const boot = () => suite.boot([Waits, Signalled], { worker: { pollInterval: '1h' } });

  beforeEach(() => {
    ran.length = 0;
  });

  const startWaiting = async ({ workflows }: TestApp) => {
    const run = await workflows.start(Waits);
    await until(run, 'waiting');
    return run;
  };
  /** The workers look, and do what is due. */
  const lookedAround = async ({ workflows }: TestApp) =>
    until(await workflows.start(Signalled, signalScript({ skipIf: () => true })), 'finished');
  const untouched = async (run: WorkflowHandle, before: unknown) => {
    expect(await allRows(sql)).toEqual(before);
    expect(await until(run, 'waiting')).toBe('waiting');
  };

  test('SIG-05 nothing is seen and nothing wakes before the commit; the step runs at once after it', async () => {
    const app = await boot();
    const other = await boot();
    const run = await startWaiting(app);
    const before = await allRows(sql);
    await app.dataSource.transaction(async (manager) => {
      const signal = await run.signal(Paid, { amount: 1 }, { manager });
      expect(signal.status).toBe('claimed');
      expect(run.status).toBe('ready');
      expect(await run.signals({ manager })).toHaveLength(1);
      expect(await allRows(sql)).toEqual(before);
      await lookedAround(app);
      await lookedAround(other);
      expect(ran).toEqual([]);
      expect(await until(run, 'waiting')).toBe('waiting');
    });
    await until(run, 'finished');
    expect(ran).toEqual([`${run.id} 1`]);
  });

  test('SIG-05 rolled back there is no signal and no event, and the step waits on; its key is free', async () => {
    const app = await boot();
    const run = await startWaiting(app);
    const before = await allRows(sql);
    const send = (options: SignalOptions) => run.signal(Paid, { amount: 2 }, { idempotencyKey: 'k', ...options });
    const undone = app.dataSource.transaction(async (manager) => {
      await send({ manager });
      expect((await send({ manager })).duplicateDelivery).toBe(true);
      throw new Undo();
    });
    await expect(undone).rejects.toThrow(Undo);
    await untouched(run, before);
    await lookedAround(app);
    expect(ran).toEqual([]);
    expect((await send({})).duplicateDelivery).toBe(false);
    await until(run, 'finished');
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1']);
  });

  test('SIG-05 behind a savepoint that is rolled back it is gone, what came before and after it stays', async () => {
    const app = await boot();
    const [undone, kept] = [await startWaiting(app), await startWaiting(app)];
    await app.dataSource.transaction(async (manager) => {
      await kept.signal('before', {}, { manager });
      await manager
        .transaction(async (inner) => {
          await undone.signal(Paid, { amount: 3 }, { manager: inner });
          throw new Undo();
        })
        .catch(() => undefined);
      await manager.transaction((inner) => kept.signal(Paid, { amount: 4 }, { manager: inner }));
    });
    await until(kept, 'finished');
    expect(ran).toEqual([`${kept.id} 4`]);
    expect(await signalsOf(sql, kept)).toEqual(['before pending', 'paid consumed by pay#1']);
    expect(await signalsOf(sql, undone)).toEqual([]);
    expect(await until(undone, 'waiting')).toBe('waiting');
    await undone.signal(Paid, { amount: 5 });
    await until(undone, 'finished');
  });

  test('SIG-05 SIG-04 of a BEGIN that TypeORM did not see PostgreSQL tells at its COMMIT', async () => {
    const app = await suite.boot([Waits], { worker: false });
    const working = await boot();
    const run = await startWaiting(working);
    const runner = app.dataSource.createQueryRunner();
    await runner.query('begin');
    const there = await app.workflows.find(run.id);
    await there.signal(Paid, { amount: 6 }, { manager: runner.manager });
    expect(await signalsOf(sql, run)).toEqual([]);
    await runner.query('commit');
    await runner.release();
    await until(run, 'finished');
    expect(ran).toEqual([`${run.id} 6`]);
  });

  test('SIG-05 started and signalled in one transaction: its gate takes it', async () => {
    const app = await boot();
    const run = await app.dataSource.transaction(async (manager) => {
      const started = await app.workflows.start(Waits, { manager });
      expect((await started.signal(Paid, { amount: 7 })).status).toBe('pending');
      return started;
    });
    await until(run, 'finished');
    expect(ran).toEqual([`${run.id} 7`]);
    expect(await suite.trail(run)).not.toContain('step_waiting');
  });

  test('SIG-05 SIG-12 a second delivery of the key waits for the first to commit, and is then a duplicate', async () => {
    const app = await boot();
    const run = await startWaiting(app);
    const other = await suite.boot([Waits], { worker: false });
    const there = await other.workflows.find(run.id);
    let second: Promise<{ duplicateDelivery: boolean }> | undefined;
    await app.dataSource.transaction(async (manager) => {
      await run.signal(Paid, { amount: 8 }, { idempotencyKey: 'k', manager });
      second = there.signal(Paid, { amount: 9 }, { idempotencyKey: 'k' });
      await suite.eventually(async () => {
        const [{ count }] = await sql(`select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database()`);
        return count === 1;
      }, 'the second waits');
    });
    expect(await second).toMatchObject({ duplicateDelivery: true, payload: { amount: 8 } });
    await until(run, 'finished');
    expect(ran).toEqual([`${run.id} 8`]);
  });
});
