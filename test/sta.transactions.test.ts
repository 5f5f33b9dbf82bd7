import { AsyncLocalStorage } from 'node:async_hooks';
import {
  AlreadyRunningError,
  PayloadTooLargeError,
  PayloadValidationError,
  Step,
  SubjectLoader,
  UnserializableValueError,
  Workflow,
  WorkflowConfigurationError,
  WorkflowNotFoundError,
  WorkflowOf,
  type Ctx,
} from 'nestjs-pg-workflows';
import { DataSource, type EntityManager } from 'typeorm';
import { gate, workflowSuite, type BootOptions } from './support/suite';

class Basket {
  constructor(readonly id: string) {}
}

@SubjectLoader(Basket)
class BasketLoader {
  load(id: string): Promise<Basket> {
    return Promise.resolve(new Basket(id));
  }
}

const ran: string[] = [];
let hold = gate();

@Workflow({ subject: Basket })
class Checkout extends WorkflowOf<Basket, Record<string, unknown>> {
  @Step()
  async pay(ctx: Ctx<this>) {
    ran.push(ctx.workflowId);
    await hold.opened;
  }
}

class Undo extends Error {}

describe("start in the caller's transaction", () => {
  // Registered first: a body that still waits would keep the application from closing.
  afterEach(() => hold.open());

  const suite = workflowSuite();
  /** The poll is of no help: what runs was announced. */
  const boot = (options: BootOptions = {}) =>
    suite.boot([Checkout, BasketLoader], { worker: { pollInterval: '1h' }, ...options });
  const rows = async () =>
    (
      await suite.sql<{ rows: number }>(
        `select ((select count(*) from workflows) + (select count(*) from workflow_steps) + (select count(*) from workflow_events))::int as rows`,
      )
    )[0].rows;
  let baskets = 0;
  const basket = () => new Basket(`b-${(baskets += 1)}`);
  /** Rolls back what `work` wrote, and returns what it returned. */
  const undone = async <T>(
    dataSource: DataSource | EntityManager,
    work: (manager: EntityManager) => Promise<T>,
  ): Promise<T> => {
    let result: T;
    await dataSource
      .transaction(async (manager) => {
        result = await work(manager);
        throw new Undo();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undo)) throw error;
      });
    return result!;
  };

  beforeEach(async () => {
    ran.length = 0;
    hold = gate();
    hold.open();
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('STA-14 what start wrote is invisible and is not run before the commit, and is run at once after it', async () => {
    const { workflows, dataSource } = await boot();
    const other = await boot();
    const committed = await dataSource.transaction(async (manager) => {
      const run = await workflows.start(Checkout, { subject: basket(), manager });
      expect(run.status).toBe('ready');
      expect(await rows()).toBe(0);
      await expect(other.workflows.find(run.id)).rejects.toThrow(WorkflowNotFoundError);
      // A run of its own, started and finished meanwhile: the workers do look, and do not see ours.
      await suite.until(await workflows.start(Checkout, { subject: basket() }), 'finished');
      await suite.until(await other.workflows.start(Checkout, { subject: basket() }), 'finished');
      expect(ran).not.toContain(run.id);
      return run;
    });
    await suite.until(committed, 'finished');
    expect(ran.filter((id) => id === committed.id)).toHaveLength(1);
  });

  test('STA-14 the handle reads and acts through the transaction until that ends, and then without it', async () => {
    const { workflows, dataSource } = await boot({ worker: false });
    const run = await dataSource.transaction(async (manager) => {
      const started = await workflows.start(Checkout, { subject: basket(), manager });
      expect((await started.reload()).status).toBe('ready');
      expect(await started.steps()).toHaveLength(1);
      expect(await started.events()).toHaveLength(2);
      expect(await workflows.find(started.id, { manager })).toMatchObject({ id: started.id });
      expect(await workflows.findOngoing(Checkout, new Basket(started.subject!.id), { manager })).toMatchObject({
        id: started.id,
      });
      await started.pause();
      expect(await rows()).toBe(0);
      return started;
    });
    expect((await run.reload()).status).toBe('paused');
    await run.resume();
    expect((await workflows.find(run.id)).status).toBe('ready');
  });

  test('STA-14 a QueryRunner: its manager is joined', async () => {
    const { workflows, dataSource } = await boot();
    const queryRunner = dataSource.createQueryRunner();
    await queryRunner.startTransaction();
    const run = await workflows.start(Checkout, { subject: basket(), manager: queryRunner.manager });
    expect(await rows()).toBe(0);
    await queryRunner.commitTransaction();
    await suite.until(run, 'finished');
    // The same QueryRunner, with no transaction open, and once it is released: start has one of its own.
    const idle = await workflows.start(Checkout, { subject: basket(), manager: queryRunner.manager });
    await queryRunner.release();
    await suite.until(idle, 'finished');
    await suite.until(await workflows.start(Checkout, { subject: basket(), manager: queryRunner.manager }), 'finished');
  });

  test('STA-14 a BEGIN that TypeORM did not see is joined too, and never committed for its owner', async () => {
    const { workflows, dataSource } = await boot();
    const queryRunner = dataSource.createQueryRunner();
    await queryRunner.query('begin');
    const run = await workflows.start(Checkout, { subject: basket(), manager: queryRunner.manager });
    expect((await run.reload()).status).toBe('ready');
    const many = await workflows.startMany(Checkout, [{ subject: basket() }, { subject: basket() }], {
      manager: queryRunner.manager,
    });
    expect(await rows()).toBe(0);
    await queryRunner.query('commit');
    for (const one of [run, ...many]) await suite.until(one, 'finished');

    const before = await rows();
    await queryRunner.query('begin');
    const gone = await workflows.start(Checkout, { subject: basket(), manager: queryRunner.manager });
    await queryRunner.query('rollback');
    await queryRunner.release();
    await expect(gone.reload()).rejects.toThrow(WorkflowNotFoundError);
    expect(await rows()).toBe(before);
    expect(ran).not.toContain(gone.id);
  });

  test('STA-15 after a rollback no run, row, event or execution is left', async () => {
    const { workflows, dataSource } = await boot();
    const gone = await undone(dataSource, async (manager) => [
      await workflows.start(Checkout, { subject: new Basket('same'), idempotencyKey: 'k', manager }),
      ...(await workflows.startMany(Checkout, [{ subject: basket() }, {}], { manager })),
    ]);
    expect(await rows()).toBe(0);
    for (const run of gone) await expect(run.reload()).rejects.toThrow(WorkflowNotFoundError);
    // Slot and key are free, and the worker goes on as ever.
    const run = await workflows.start(Checkout, { subject: new Basket('same'), idempotencyKey: 'k' });
    expect(run.duplicateStart).toBe(false);
    await suite.until(run, 'finished');
    expect(ran).toEqual([run.id]);
  });

  test('STA-15 a savepoint that is rolled back takes its runs with it, and only its own', async () => {
    const { workflows, dataSource } = await boot();
    const start = (manager: EntityManager) => workflows.start(Checkout, { subject: basket(), manager });
    const { kept, gone } = await dataSource.transaction(async (manager) => {
      const outer = await start(manager);
      const released = await manager.transaction(start);
      const lost = await undone(manager, async (inner) => {
        const one = await start(inner);
        return [one, await inner.transaction(start)];
      });
      return { kept: [outer, released], gone: lost };
    });
    for (const run of kept) await suite.until(run, 'finished');
    for (const run of gone) await expect(run.reload()).rejects.toThrow(WorkflowNotFoundError);
    expect(ran.toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
  });

  test('STA-14 a run of a released savepoint is announced, though a later savepoint is rolled back', async () => {
    const { workflows, dataSource } = await boot();
    const run = await dataSource.transaction(async (manager) => {
      const started = await manager.transaction((inner) =>
        workflows.start(Checkout, { subject: basket(), manager: inner }),
      );
      await undone(manager, () => Promise.resolve());
      return started;
    });
    await suite.until(run, 'finished');
    expect(ran).toEqual([run.id]);
  });

  test('STA-15 a COMMIT that PostgreSQL answers with ROLLBACK leaves nothing', async () => {
    const { workflows, dataSource } = await boot();
    const run = await dataSource.transaction(async (manager) => {
      const started = await workflows.start(Checkout, { subject: basket(), manager });
      await manager.query('select 1/0').catch(() => undefined);
      return started;
    });
    await expect(run.reload()).rejects.toThrow(WorkflowNotFoundError);
    expect(await rows()).toBe(0);
  });

  test('STA-16 the ambient transaction is joined without manager; with none active, start uses its own', async () => {
    const ambient = new AsyncLocalStorage<EntityManager>();
    const { workflows, dataSource } = await boot({ transaction: () => ambient.getStore() });
    const gone = await undone(dataSource, (manager) =>
      ambient.run(manager, async () => {
        const run = await workflows.start(Checkout, { subject: basket() });
        const [other] = await workflows.startMany(Checkout, [{ subject: basket() }]);
        expect(await rows()).toBe(0);
        expect(await workflows.find(run.id)).toMatchObject({ id: run.id });
        expect(await workflows.findOngoing(Checkout, new Basket(run.subject!.id))).toMatchObject({ id: run.id });
        expect(await ambient.exit(() => workflows.find(run.id)).catch((error: unknown) => error)).toBeInstanceOf(
          WorkflowNotFoundError,
        );
        await other.cancel();
        return run;
      }),
    );
    await expect(gone.reload()).rejects.toThrow(WorkflowNotFoundError);

    const kept = await dataSource.transaction((manager) =>
      ambient.run(manager, () => workflows.start(Checkout, { subject: basket() })),
    );
    await suite.until(kept, 'finished');
    await suite.until(await workflows.start(Checkout, { subject: basket() }), 'finished');
    // A manager that is given goes before the ambient one.
    const mine = await dataSource.transaction((manager) =>
      undone(dataSource, (lost) => ambient.run(lost, () => workflows.start(Checkout, { subject: basket(), manager }))),
    );
    await suite.until(mine, 'finished');
  });

  test("STA-17 at READ COMMITTED every refusal leaves the caller's transaction usable", async () => {
    const { workflows, dataSource } = await boot({ worker: false, maxPayloadSize: 64 });
    const busy = basket();
    const running = await workflows.start(Checkout, { subject: busy, idempotencyKey: 'used' });
    const before = await rows();
    await dataSource.transaction(async (manager) => {
      const refusals: [Promise<unknown>, new (...args: never[]) => Error][] = [];
      const usable = async () => expect(await manager.query('select 1 as one')).toEqual([{ one: 1 }]);
      const refused = async (starting: Promise<unknown>, type: new (...args: never[]) => Error) => {
        await expect(starting).rejects.toThrow(type);
        await usable();
      };
      await refused(workflows.start(Checkout, { subject: busy, manager }), AlreadyRunningError);
      await refused(workflows.start(Checkout, { args: { a: () => 1 }, manager }), UnserializableValueError);
      await refused(workflows.start(Checkout, { args: { a: 'x'.repeat(64) }, manager }), PayloadTooLargeError);
      await refused(workflows.start(Checkout, { idempotencyKey: 'x'.repeat(10_000), manager }), PayloadValidationError);
      await refused(
        workflows.startMany(Checkout, [{ args: {} }, { subject: busy, args: {} }], { manager }),
        AlreadyRunningError,
      );
      const duplicate = await workflows.start(Checkout, {
        subject: basket(),
        args: {},
        idempotencyKey: 'used',
        manager,
      });
      expect(duplicate).toMatchObject({ id: running.id, duplicateStart: true });
      await usable();
      expect(refusals).toEqual([]);
      const late: unknown = await workflows
        .start(Checkout, { subject: busy, args: {}, manager })
        .catch((error: unknown) => error);
      // Its run is a handle in the caller's transaction.
      expect(await (late as AlreadyRunningError).run.reload()).toMatchObject({ id: running.id });
      await workflows.start(Checkout, { subject: basket(), args: {}, manager });
    });
    expect(await rows()).toBe(before + 4);
  });

  test.each([
    { by: 'slot', options: () => ({ subject: basket(), args: {} }) },
    { by: 'key', options: () => ({ args: {}, idempotencyKey: `key-${(baskets += 1)}` }) },
  ])(
    'STA-17 a concurrent duplicate ($by) waits for the other start; above READ COMMITTED it fails with 40001',
    async ({ by, options }) => {
      const { workflows, dataSource } = await boot({ worker: false });
      for (const level of ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const) {
        const same = options();
        const other = dataSource.createQueryRunner();
        await other.startTransaction();
        const winner = await workflows.start(Checkout, { ...same, manager: other.manager });
        const outcome: Promise<unknown> = dataSource
          .transaction(level, async (manager) => {
            await manager.query('select count(*) from workflows'); // the snapshot is taken
            const answer: unknown = await workflows
              .start(Checkout, { ...same, manager })
              .catch((error: unknown) => error);
            if (answer instanceof Error && !(answer instanceof AlreadyRunningError)) throw answer;
            await manager.query('select 1'); // and the transaction is usable still
            return answer;
          })
          .catch((error: unknown) => error);
        await suite.eventually(
          async () =>
            (
              await suite.sql(
                `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
              )
            ).length > 0,
          'the second start waits for the first',
        );
        await other.commitTransaction();
        await other.release();
        const met =
          by === 'slot' ? { code: 'ALREADY_RUNNING', run: { id: winner.id } } : { id: winner.id, duplicateStart: true };
        expect(await outcome).toMatchObject(level === 'READ COMMITTED' ? met : { code: '40001' });
        // The whole transaction, run again, meets the run that is there.
        const again: unknown = await dataSource
          .transaction(level, (manager) => workflows.start(Checkout, { ...same, manager }))
          .catch((error: unknown) => error);
        expect(again).toMatchObject(met);
      }
    },
  );

  test('STA-14 a manager of another DataSource is refused, not passed over', async () => {
    const { workflows } = await boot({ worker: false });
    const other = await new DataSource({ type: 'postgres', url: suite.database.url }).initialize();
    await other.transaction(async (manager) => {
      const start = workflows.start(Checkout, { subject: basket(), args: {}, manager });
      await expect(start).rejects.toThrow(WorkflowConfigurationError);
      await expect(start).rejects.toThrow(/another DataSource/);
    });
    await other.destroy();
    expect(await rows()).toBe(0);
  });
});
