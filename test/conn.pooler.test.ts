import { randomUUID } from 'node:crypto';
import { CancelIf, Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import {
  createLedger,
  EVERY_KIND,
  notAtOnce,
  PlainKind,
  startBoth,
  untilAllFinished,
  wronglyWritten,
} from './support/every-kind';
import { captureLog } from './support/log';
import { leaveInProgress, stalledRuns } from './support/lost-worker';
import { describeWithPgBouncer, startPgBouncer, type PgBouncer } from './support/pgbouncer';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite, type BootOptions } from './support/suite';

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

const DEAF = /LISTEN was accepted, but notifications do not arrive/;
const UNNAMED = /statements are not prepared under names/;

/** Its guard is in a query when its time is over. */
@Workflow({ name: 'PooledGuarded' })
class Slow extends WorkflowOf {
  @CancelIf()
  async asks(ctx: Ctx<this>) {
    await ctx.manager.query('select pg_sleep(60)');
  }

  @Step()
  async only() {}
}

describeWithPgBouncer('behind a transaction pooler', () => {
  const suite = workflowSuite();
  let bouncer: PgBouncer;

  beforeAll(async () => {
    await createLedger(suite.sql);
    // Fewer connections to the server than the application has: they change hands all the time.
    bouncer = await startPgBouncer(suite.database.url, { default_pool_size: '8' });
  });
  afterAll(() => bouncer?.stop());
  afterEach(() => jest.restoreAllMocks());

  const boot = (providers: Parameters<typeof suite.boot>[0], options: BootOptions = {}) =>
    suite.boot(providers, { ...options, dataSource: { url: bouncer.urlOf(suite.database.url) } });
  const direct = () => suite.database.url;

  test('SWEEP-16 the worker boots, says once that notifications do not arrive and that statements go unnamed, and polls', async () => {
    const log = captureLog();
    const { workflows } = await boot(EVERY_KIND);
    for (const run of await workflows.startMany(
      PlainKind,
      times(5, () => ({})),
    )) {
      await suite.until(run, 'finished');
    }
    expect(log.saying(DEAF)).toHaveLength(1);
    expect(log.saying(UNNAMED)).toHaveLength(1);
    expect(log.lines).toHaveLength(2);
  });

  test('SWEEP-16 200 runs at once, with every kind of step, in two workers: all finish, each once', async () => {
    const log = captureLog();
    const apps = await Promise.all(times(2, () => boot(EVERY_KIND)));
    const runs = await startBoth(apps[0], 100);
    await untilAllFinished(suite, apps[0], runs);
    expect(await notAtOnce(suite.sql, runs)).toEqual([]);
    expect(await wronglyWritten(suite.sql)).toEqual([]);
    expect(apps.flatMap(({ reported }) => reported)).toEqual([]);
    expect(log.saying(/failed|could not/)).toEqual([]);
  });

  test('SWEEP-01 SWEEP-02 leases are renewed through it, and those of lost workers found', async () => {
    captureLog();
    const { workflows } = await boot([Scripted, PlainKind], { worker: { lease: '1s' } });
    const starter = await suite.boot([PlainKind], { worker: false, queue: 'nobody' });
    const one = held();
    const run = await workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    const first = await leaseOf(run.id);
    const lost = await starter.workflows.start(PlainKind);
    await leaveInProgress(suite.sql, lost);
    await suite.until(lost, 'paused');
    expect(await attempts(lost)).toEqual(['one#1 failed, paused: StepStalledError']);
    // Over a lease later, the one of the living has been renewed meanwhile.
    expect((await leaseOf(run.id)) - first).toBeGreaterThan(0);
    expect(await stalledRuns(suite.sql)).toEqual([lost.id]);
    one.release();
    await suite.until(run, 'finished');
  });

  async function leaseOf(id: string): Promise<number> {
    const [row] = await suite.sql<{ lease: Date }>(
      `select lease_expires_at as lease from workflow_steps where workflow_id = $1 and status = 'in_progress'`,
      [id],
    );
    return row.lease.getTime();
  }

  test('SWEEP-16 the URL of a direct connection in worker.listen makes it hear', async () => {
    const log = captureLog();
    // Only a notification has it look.
    await boot([Scripted], { worker: { listen: direct(), pollInterval: '1h' } });
    // Through the pooler it can be sent.
    const other = await boot([Scripted], { worker: false });
    const run = await other.workflows.start(Scripted, script({}));
    await suite.until(run, 'finished');
    expect(log.saying(DEAF)).toEqual([]);
  });

  test('FLOW-06 guardTimeout ends a guard that is in a query, whichever connection of the server it is on', async () => {
    captureLog();
    const { workflows } = await boot([Slow], { guardTimeout: 100 });
    const run = await workflows.start(Slow);
    await suite.until(run, 'paused');
    expect(await attempts(run)).toEqual(['only#1 failed, paused: StepTimedOutError']);
    const asleep = await suite.sql(
      `select from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
    );
    expect(asleep).toEqual([]);
  });

  test('STA-14 a start in the transaction of a caller, and what it is told after the commit, go through it', async () => {
    captureLog();
    const { workflows, dataSource } = await boot([Scripted]);
    const reason = randomUUID();
    const run = await dataSource.transaction((manager) =>
      workflows.start(Scripted, { ...script({}), manager, reason, idempotencyKey: reason }),
    );
    await suite.until(run, 'finished');
    const again = await workflows.start(Scripted, { ...script({}), idempotencyKey: reason });
    expect(again.id).toBe(run.id);
  });
});
