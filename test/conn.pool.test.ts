import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { CancelIf, Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { createLedger, EVERY_KIND, PlainKind, startBoth, untilAllFinished, wronglyWritten } from './support/every-kind';
import { stalledRuns } from './support/lost-worker';
import { captureLog } from './support/log';
import { held, script, Scripted } from './support/scripted';
import { gate, workflowSuite } from './support/suite';

const POOL = 'the application';
/** Said once for all that is under way, until the database answers again. */
const LOSS = /Looking for due steps failed.*connection/;

type Guard = (ctx: Ctx<Guarded>) => unknown;
let guard: Guard = () => false;

@Workflow({ name: 'ConnGuarded' })
class Guarded extends WorkflowOf {
  @CancelIf()
  async asks(ctx: Ctx<this>) {
    return guard(ctx);
  }

  @Step()
  async only() {}
}

describe('connections that the server ends', () => {
  const suite = workflowSuite();
  const own = { dataSource: { applicationName: POOL } };

  beforeAll(() => createLedger(suite.sql));
  afterEach(() => jest.restoreAllMocks());

  /** Ends the pool's connections of which this is true, as an administrator does. */
  const terminate = async (which = 'true') => {
    const ended = await suite.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = $1 and ${which}`,
      [POOL],
    );
    return ended.length;
  };
  test('SIG-04 a DataSource described by host, port, user and password: the listener connects as it does, and hears', async () => {
    const log = captureLog();
    const { hostname, port, username, password, pathname } = new URL(suite.database.url);
    const parts = { host: hostname, port: Number(port), username, password, database: pathname.slice(1) };
    for (const dataSource of [parts, { ...parts, password: async () => password }]) {
      const worker = await suite.boot([Scripted], {
        dataSource: { url: undefined, ...dataSource },
        // Only a notification has it look.
        worker: { pollInterval: '1h' },
      });
      const other = await suite.boot([Scripted], { worker: false });
      const run = await other.workflows.start(Scripted, script({}));
      await suite.until(run, 'finished');
      await Promise.all([worker.close(), other.close()]);
    }
    expect(log.lines).toEqual([]);
  });

  test('SWEEP-20 idle connections are ended: nobody is told, the next claim takes another', async () => {
    const log = captureLog();
    const worker = await suite.boot(EVERY_KIND, { ...own, worker: { pollInterval: '1h' } });
    const before = await Promise.all(Array.from({ length: 5 }, () => worker.workflows.start(PlainKind)));
    for (const run of before) await suite.until(run, 'finished');
    await suite.eventually(
      async () =>
        (await suite.sql(`select from pg_stat_activity where application_name = $1 and state <> 'idle'`, [POOL]))
          .length === 0,
      'the pool is idle',
    );
    expect(await terminate()).toBeGreaterThan(0);
    const pool = (worker.dataSource.driver as unknown as { master: { totalCount: number } }).master;
    await suite.eventually(() => pool.totalCount === 0, 'the pool has noticed');
    const run = await worker.workflows.start(PlainKind);
    await suite.until(run, 'finished');
    expect(log.lines).toEqual([]);
  });

  test('SWEEP-20 every connection is ended in the middle of the work, again and again: it goes on, and all is done once', async () => {
    const log = captureLog();
    const worker = await suite.boot(EVERY_KIND, own);
    const runs = await startBoth(worker, 40);
    let ended = 0;
    for (let round = 0; round < 6; round += 1) {
      await suite.eventually(async () => {
        const [{ done }] = await suite.sql<{ done: number }>(
          `select count(*)::int as done from workflow_steps where status = 'completed'`,
        );
        return done > round * 20;
      }, `steps are done in round ${round}`);
      // Those beside the pool too: the listener's, and the one that keeps the leases.
      const rows = await suite.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name <> ''`,
      );
      ended += rows.length;
    }
    expect(ended).toBeGreaterThan(6);
    await untilAllFinished(suite, worker, runs);

    expect(await stalledRuns(suite.sql)).toEqual([]);
    expect(await wronglyWritten(suite.sql)).toEqual([]);
    // A handful of lines, however much was under way: it may be back and lost again within one round.
    for (const loss of [LOSS, /listening connection was lost/, /waiting runs failed/, /renews the leases was lost/]) {
      expect(log.saying(loss).length).toBeLessThanOrEqual(12);
    }
    expect(log.saying(/claim of step/)).toEqual([]);
  });

  test("FLOW-06 a guard whose claim's connection is cut has not failed: the claim is made again", async () => {
    const log = captureLog();
    const { workflows, reported } = await suite.boot([Guarded], own);
    let asked = 0;
    guard = async (ctx) => {
      asked += 1;
      if (asked > 1) return false;
      const [{ pid }] = await ctx.manager.query('select pg_backend_pid() as pid');
      await suite.sql('select pg_terminate_backend($1)', [pid]);
      // The guard meets it, and throws it on.
      return ctx.manager.query('select pg_sleep(10)');
    };
    const run = await workflows.start(Guarded);
    await suite.until(run, 'finished');
    expect(asked).toBe(2);
    expect(await attempts(run)).toEqual(['only#1 completed']);
    expect(reported).toEqual([]);
    expect(log.saying(LOSS)).toHaveLength(1);
  });

  test("FLOW-06 a guard that swallows the loss of its claim's connection, or waits on for ever, decides nothing: the claim is made again", async () => {
    const log = captureLog();
    const { workflows, reported } = await suite.boot([Guarded], own);
    const never = gate();
    const first: Guard[] = [
      (ctx) => ctx.manager.query('select pg_sleep(10)').then(undefined, () => true),
      () => never.opened,
    ];
    for (const meets of first) {
      let asked = 0;
      guard = async (ctx) => {
        asked += 1;
        if (asked > 1) return false;
        const [{ pid }] = await ctx.manager.query('select pg_backend_pid() as pid');
        await suite.sql('select pg_terminate_backend($1)', [pid]);
        return meets(ctx);
      };
      const run = await workflows.start(Guarded);
      await suite.until(run, 'finished');
      expect(asked).toBe(2);
      expect(await attempts(run)).toEqual(['only#1 completed']);
    }
    never.open();
    expect(reported).toEqual([]);
    expect(log.saying(LOSS)).toHaveLength(2);
  });

  test('SWEEP-20 a connection that breaks between its making and its first use ends no process', async () => {
    const log = captureLog();
    const { workflows, dataSource } = await suite.boot([Scripted], own);
    const pool = (dataSource.driver as unknown as { master: EventEmitter }).master;
    let broken = 0;
    const breakIt = (client: { connection: { stream: Socket } }) => {
      broken += 1;
      // Its error comes when the pool has given it away and TypeORM has not got it yet: nobody but the engine listens, and an error that
      // nobody hears ends the process.
      client.connection.stream.destroy(new Error('broken as it was made'));
    };
    pool.on('connect', breakIt);
    await terminate();
    await suite.eventually(() => broken > 2, 'polls have met broken connections');
    pool.off('connect', breakIt);
    const run = await workflows.start(Scripted, script({}));
    await suite.until(run, 'finished');
    expect(log.saying(/Looking for due steps failed/)).toHaveLength(1);
  });

  test('FLOW-14 a body whose process loses every connection while it runs has its outcome all the same', async () => {
    captureLog();
    const { workflows } = await suite.boot([Scripted], own);
    const one = held((ctx) => ctx.output({ kept: true }));
    const run = await workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    await terminate();
    one.release();
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
    expect((await run.steps())[0].output).toEqual({ kept: true });
    expect(await suite.trail(run)).not.toContain('late_completion_ignored');
  });
});
