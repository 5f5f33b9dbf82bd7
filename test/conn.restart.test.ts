import { Step, Workflow, WorkflowOf, type Duration } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { createLedger, EVERY_KIND, EveryKind, startBoth, untilAllFinished, wronglyWritten } from './support/every-kind';
import { captureLog } from './support/log';
import { heldLeases, leaveInProgress, stalledRuns } from './support/lost-worker';
import { ownPostgres } from './support/own-postgres';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite, type BootOptions } from './support/suite';
import { TcpProxy } from './support/tcp-proxy';

const server = ownPostgres();

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

const LEASE = '1s';

/** A run of it is left behind by a worker that is lost; only the judge under test has its class. */
@Workflow()
class LeftBehind extends WorkflowOf {
  @Step()
  async only() {}
}

describe('a database that goes away', () => {
  const suite = workflowSuite();
  const proxies: TcpProxy[] = [];

  beforeAll(() => createLedger(suite.sql));
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));

  const proxied = async () => {
    const proxy = await TcpProxy.before(server.url);
    proxies.push(proxy);
    return proxy;
  };
  const boot = (providers: Parameters<typeof suite.boot>[0], options: BootOptions = {}) =>
    suite.boot(providers, {
      ...options,
      ...(options.worker !== false && { worker: { lease: LEASE, ...options.worker } }),
    });
  /** The suite's own connections are lost too, and told so when they are next used. */
  const sql: typeof suite.sql = async (query, parameters) => suite.sql(query, parameters).catch(() => []) as never;
  const eventuallyHeld = (count: number) =>
    suite.eventually(async () => (await heldLeases(suite.sql).catch(() => 0)) === count, `${count} leases are held`);

  /** A worker with bodies at work, and a judge that executes nothing. */
  async function atWork(lease: Duration, urls: { worker?: string; judge?: string } = {}) {
    const at = (url?: string) => (url ? { dataSource: { url } } : {});
    const { workflows, reported } = await boot([Scripted], { ...at(urls.worker), worker: { lease } });
    const bodies = times(10, () => held());
    const runs = await workflows.startMany(
      Scripted,
      bodies.map(({ body }) => script({ one: body })),
    );
    await Promise.all(bodies.map(({ reached }) => reached));
    const starter = await boot([LeftBehind], { worker: false });
    await boot([Scripted, LeftBehind], { ...at(urls.judge), worker: { lease, queues: ['another'] } });
    return {
      /** The judge finds a run that a lost worker has left behind, and that one alone; the others come to their end. */
      judged: async () => {
        const left = await starter.workflows.start(LeftBehind);
        await leaveInProgress(suite.sql, left);
        await suite.eventually(
          async () =>
            (await sql('select from workflows where id = $1 and status = $2', [left.id, 'paused'])).length === 1,
          'the judge trusts itself again, and has found the lost one',
        );
        expect(await stalledRuns(suite.sql)).toEqual([left.id]);
        for (const { release } of bodies) release();
        for (const run of runs) {
          await suite.until(run, 'finished');
          expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
          expect(await suite.trail(run)).not.toContain('late_completion_ignored');
        }
        expect(reported).toEqual([]);
        await suite.sql(`delete from workflow_events where name = 'stall_detected'`);
      },
    };
  }

  test('SWEEP-19 the server crashes and recovers while bodies run: nobody alive is stalled, though the one that is lost is found', async () => {
    captureLog();
    const { judged } = await atWork(LEASE);
    await server.restart('immediate');
    await eventuallyHeld(10);
    expect(await stalledRuns(suite.sql)).toEqual([]);
    await judged();
  });

  test('SWEEP-19 it is away for longer than a lease, and a live worker comes back after the judge: it is not stalled', async () => {
    captureLog();
    const [workers, judges] = [await proxied(), await proxied()];
    const url = (proxy: TcpProxy) => proxy.urlOf(suite.database.url);
    const { judged } = await atWork('2s', { worker: url(workers), judge: url(judges) });
    let looks = 0;
    judges.onRequest = (bytes) => {
      if (bytes.includes('wf_lease_look')) looks += 1;
      return 'pass';
    };

    const restarted = server.restart('fast', 2_500);
    await suite.eventually(() => workers.passing === 0, 'the worker has lost it');
    workers.newcomers = 'refuse';
    await restarted;
    expect(await heldLeases(suite.sql)).toBe(0);
    looks = 0;
    await suite.eventually(() => looks > 5, 'the judge has looked at leases that are lapsed, more than twice');
    expect(await heldLeases(suite.sql)).toBe(0);
    workers.newcomers = 'pass';

    await eventuallyHeld(10);
    await judged();
  });

  test('SWEEP-19 while it is away a worker asks now and then, and says once that it is away and once that it is back', async () => {
    const log = captureLog();
    const proxy = await proxied();
    const { workflows } = await boot([...EVERY_KIND, Scripted], {
      dataSource: { url: proxy.urlOf(suite.database.url) },
      worker: { pollInterval: '1s' },
    });
    const bodies = times(20, () => held());
    const runs = await workflows.startMany(
      Scripted,
      bodies.map(({ body }) => script({ one: body })),
    );
    await Promise.all(bodies.map(({ reached }) => reached));
    const others = await workflows.startMany(
      EveryKind,
      times(20, (n) => ({ args: { n } })),
    );

    const before = proxy.attempts;
    const restarted = server.restart('immediate', 3_500);
    await suite.eventually(() => log.lines.length > 0, 'the loss is noticed');
    // These come to an end that cannot be stored yet.
    for (const { release } of bodies) release();
    await restarted;
    const asked = proxy.attempts - before;

    await untilAllFinished(suite, { workflows }, [...runs, ...others]);
    expect(await stalledRuns(suite.sql)).toEqual([]);
    // About forty: polls, the listener, the leases and what waits to be stored, each more and more slowly. Spinning, it would be thousands.
    expect(asked).toBeLessThan(120);
    for (const back of [
      /Due steps are claimed again/,
      /waiting runs are looked after/,
      /Leases are renewed again/,
      /connection is back/,
    ]) {
      await suite.eventually(() => log.saying(back).length > 0, `it was said that ${String(back)}`);
    }
    const texts = log.lines.map(({ text }) => text);
    expect(texts).toEqual([...new Set(texts)]);
    expect(log.saying(/lost|failed/).length).toBeLessThan(10);
  });

  test('SWEEP-20 it crashes again and again in the middle of the work: all is done, and what is transactional once', async () => {
    captureLog();
    const apps = [await boot(EVERY_KIND), await boot(EVERY_KIND)];
    const runs = await startBoth(apps[0], 40);
    for (let round = 0; round < 3; round += 1) await server.restart('immediate');
    await untilAllFinished(suite, apps[0], runs);
    expect(await stalledRuns(suite.sql)).toEqual([]);
    expect(await wronglyWritten(suite.sql)).toEqual([]);
  });
});
