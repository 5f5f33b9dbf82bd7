import { CancelIf, Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { createLedger, EVERY_KIND, PlainKind, startBoth, untilAllFinished } from './support/every-kind';
import { gate, workflowSuite } from './support/suite';

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

let holding = gate();
let held = 0;

/** Its guards hold a connection until the test says so. */
@Workflow({ name: 'ShareGuarded' })
class Guarded extends WorkflowOf {
  @CancelIf()
  async asks() {
    held += 1;
    await holding.opened;
  }

  @Step()
  async only() {}
}

/** And so do its bodies. */
@Workflow({ name: 'ShareTransactional' })
class Transactional extends WorkflowOf {
  @Step({ transactional: true })
  async only(ctx: Ctx<this>) {
    held += 1;
    await holding.opened;
    await ctx.manager.query('select 1');
  }
}

describe('what a process takes of the server and of its pool', () => {
  const suite = workflowSuite();

  beforeAll(() => createLedger(suite.sql));

  beforeEach(() => {
    holding = gate();
    held = 0;
  });

  /** Connections to this database by the name of the application, without the suite's own, which have none. */
  const connections = async () => {
    const rows = await suite.sql<{ name: string; count: number }>(
      `select application_name as name, count(*)::int as count from pg_stat_activity
       where datname = current_database() and application_name <> '' group by 1`,
    );
    return new Map(rows.map(({ name, count }) => [name, count]));
  };
  const beside = (counts: Map<string, number>, ...pools: string[]) =>
    [...counts].filter(([name]) => !pools.includes(name)).reduce((sum, [, count]) => sum + count, 0);

  test('DEF-20 worker.connections is kept: a worker takes its share of the pool and at most two beside it, under every kind of step', async () => {
    const starter = await suite.boot(EVERY_KIND, { worker: false, dataSource: { applicationName: 'starter' } });
    await suite.boot(EVERY_KIND, {
      poolSize: 10,
      dataSource: { applicationName: 'worker' },
      worker: { connections: 3 },
    });
    const runs = await startBoth(starter, 30);
    let most = 0;
    let mostBeside = 0;
    const finished = new AbortController();
    const counting = (async () => {
      while (!finished.signal.aborted) {
        const counts = await connections();
        most = Math.max(most, counts.get('worker') ?? 0);
        mostBeside = Math.max(mostBeside, beside(counts, 'worker', 'starter'));
      }
    })();
    await untilAllFinished(suite, starter, runs);
    finished.abort();
    await counting;
    expect(most).toBe(3);
    expect(mostBeside).toBeGreaterThan(0);
    expect(mostBeside).toBeLessThanOrEqual(2);
  });

  test('DEF-22 a process with worker: false takes nothing beside its pool', async () => {
    const { workflows } = await suite.boot(EVERY_KIND, { worker: false, dataSource: { applicationName: 'starter' } });
    const run = await workflows.start(PlainKind);
    await run.pause();
    await run.cancel();
    const counts = await connections();
    expect(counts.get('starter')).toBeGreaterThan(0);
    expect(beside(counts, 'starter')).toBe(0);
  });

  test('DEF-20 while 200 guarded and transactional runs are due, and as many as may be hold a connection, the application gets one', async () => {
    const { workflows, dataSource } = await suite.boot([Guarded, Transactional, PlainKind], { poolSize: 4 });
    const runs = [
      ...(await workflows.startMany(
        Guarded,
        times(100, () => ({})),
      )),
      ...(await workflows.startMany(
        Transactional,
        times(100, () => ({})),
      )),
    ];
    await suite.eventually(() => held > 0, 'a guard or a body holds a connection');
    for (let n = 0; n < 20; n += 1) expect(await dataSource.query('select 1 as one')).toEqual([{ one: 1 }]);
    // In a transaction too, beside which the engine's own calls want another.
    await dataSource.transaction(async (manager) => {
      await manager.query('select 1');
      await workflows.start(PlainKind);
    });
    expect(held).toBe(1);
    holding.open();
    await untilAllFinished(suite, { workflows }, runs);
  });
});
