import { CancelIf, Step, Workflow, WorkflowOf, type StepContext } from 'nestjs-pg-workflows';
import { WAKEUP } from '../libs/workflow/src/workflow.runtime';
import type { Wakeup } from '../libs/workflow/src/store/wakeup';
import { attempts } from './support/attempts';
import { captureLog } from './support/log';
import { stalledRuns } from './support/lost-worker';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite, type BootOptions, type TestApp } from './support/suite';
import { TcpProxy } from './support/tcp-proxy';

@Workflow({ name: 'HalfOpenGuarded' })
class Guarded extends WorkflowOf<null, { script: string }> {
  @CancelIf()
  never() {
    return false;
  }

  @Step()
  async only() {}
}

/** The limit of `store/database.ts` for an answer to a statement of the engine's. */
const ANSWER_MS = 60_000;

describe('connections whose other end has vanished', () => {
  const suite = workflowSuite();
  const proxies: TcpProxy[] = [];
  let proxy: TcpProxy;

  beforeEach(async () => {
    proxy = await TcpProxy.before(suite.database.url);
    proxies.push(proxy);
  });

  afterEach(() => jest.restoreAllMocks());
  afterAll(() => Promise.all(proxies.map((one) => one.close())));

  /** Heals the network before the suite closes the applications: a pool waits for the other end of what it closes. */
  async function through(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      proxy.onRequest = () => 'pass';
      proxy.cut();
    }
  }

  const boot = (options: BootOptions) => suite.boot([Scripted, Guarded], options);

  /** What a worker is told by others. */
  const hearing = ({ app }: TestApp) => {
    const heard: string[] = [];
    app.get<Wakeup>(WAKEUP).listen(({ kind }, from) => {
      if (from === 'elsewhere') heard.push(kind);
    });
    return heard;
  };

  test('SWEEP-16 a half-open listener is found out by its own test and opened again; polling carries on meanwhile', () =>
    through(async () => {
      const log = captureLog();
      const worker = await boot({ worker: { listen: proxy.url, pollInterval: 100 } });
      const other = await boot({ worker: false });
      const heard = hearing(worker);
      await suite.until(await other.workflows.start(Scripted, script({})), 'finished');
      await suite.eventually(() => heard.length > 0, 'the worker has heard of the start');

      proxy.freeze();
      heard.length = 0;
      await suite.until(await other.workflows.start(Scripted, script({})), 'finished');
      expect(heard).toEqual([]);
      expect(log.lines).toEqual([]);

      await suite.eventually(() => log.saying(/listening connection is back/).length > 0, 'the listener is back');
      expect(log.saying(/listening connection was lost/)).toHaveLength(1);
      expect(proxy.attempts).toBe(2);
      await suite.until(await other.workflows.start(Scripted, script({})), 'finished');
      await suite.eventually(() => heard.length > 0, 'the worker hears again');
    }));

  test.each([
    ['claim', 'wf_claim', Scripted],
    ['guarded claim', 'wf_take', Guarded],
    ['settlement in a set', 'wf_settle', Scripted],
    ['settlement alone', 'wf_change', Scripted],
  ])(
    'SWEEP-20 a pool connection goes half-open under a %s: it is given up, and the worker goes on by itself',
    (_, statement, workflow) =>
      through(async () => {
        captureLog();
        shortenAnswers(300);
        const worker = await boot({
          dataSource: { url: proxy.url },
          // A guarded claim holds the run's lock at the server until its transaction is idle for too long.
          guardTimeout: 200,
          worker: { listen: suite.database.url, lease: '1s' },
        });
        let frozen = 0;
        proxy.onRequest = (bytes) => {
          if (frozen > 0 || !bytes.includes(statement)) return 'pass';
          frozen += 1;
          return 'freeze';
        };
        // A reattempt is no case for a set.
        const bodies =
          statement === 'wf_change' ? { one: (ctx: StepContext) => ctx.attempt === 1 && ctx.reattempt() } : {};
        const run = await (await boot({ worker: false })).workflows.start(workflow as typeof Scripted, script(bodies));
        await suite.eventually(() => frozen > 0, 'a connection is half-open');
        if (statement === 'wf_change') await endIdleTransaction();
        await suite.until(run, 'finished');
        expect((await attempts(run)).filter((line) => !/ completed$|reattempted$/.test(line))).toEqual([]);
        expect(await stalledRuns(suite.sql)).toEqual([]);
        expect(await suite.trail(run)).not.toContain('late_completion_ignored');
        expect(worker.reported).toEqual([]);
      }),
  );

  test('SWEEP-20 nothing comes through, and connections that are asked for are never made: with connectTimeoutMS the worker is back with the network', () =>
    through(async () => {
      captureLog();
      shortenAnswers(300);
      await boot({
        dataSource: { url: proxy.url, connectTimeoutMS: 500 },
        worker: { listen: suite.database.url, lease: '1s' },
      });
      const other = await boot({ worker: false });
      await suite.until(await other.workflows.start(Scripted, script({})), 'finished');
      const before = proxy.attempts;
      proxy.newcomers = 'hang';
      proxy.freeze();
      const run = await other.workflows.start(Scripted, script({}));
      await suite.eventually(() => proxy.attempts > before + 5, 'connections are asked for');
      // A claim that was on its way may have taken it: its body cannot have begun.
      expect(['ready', 'performing']).toContain((await run.reload()).status);
      proxy.newcomers = 'pass';
      expect(await suite.until(run, 'finished')).toBe('finished');
    }));

  test('SWEEP-09 FLOW-18 a worker without a network is stalled by another; back again, its body is asked to stop, and what it comes to is ignored', () =>
    through(async () => {
      captureLog();
      shortenAnswers(300);
      const one = held((ctx) => ctx.output({ late: true }));
      const lost = await boot({
        dataSource: { url: proxy.url, connectTimeoutMS: 500 },
        worker: { listen: suite.database.url, lease: '1s' },
      });
      const { id } = await lost.workflows.start(
        Scripted,
        script({ one: (ctx) => (ctx.attempt === 1 ? one.body(ctx) : undefined) }),
      );
      const { abortSignal } = await one.reached;
      const asked = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
      const other = await boot({ stallAction: 'reattempt', worker: { lease: '1s' } });
      const run = await other.workflows.find(id);

      proxy.newcomers = 'hang';
      proxy.freeze();
      await suite.until(run, 'finished');
      expect(await attempts(run)).toEqual([
        'one#1 failed, reattempted: StepStalledError',
        'one#2 completed',
        'two#1 completed',
        'three#1 completed',
      ]);
      expect(abortSignal.aborted).toBe(false);

      proxy.newcomers = 'pass';
      await asked;
      expect(abortSignal.reason).toMatchObject({ name: 'StepStalledError' });
      one.release();
      await suite.eventually(
        async () => (await suite.trail(run)).includes('late_completion_ignored'),
        'the late outcome is noted',
      );
      expect((await run.steps()).map(({ output }) => output)).toEqual([null, null, null, null]);
      await suite.sql(`delete from workflow_events where name = 'stall_detected'`);
    }));

  /** The server ends a transaction whose other end has vanished, and with it the run's lock, after a minute: here at once. */
  async function endIdleTransaction() {
    await suite.eventually(async () => {
      const ended = await suite.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'idle in transaction' and state_change < now() - interval '200 ms'`,
      );
      return ended.length === 1;
    }, 'a transaction is idle');
  }

  /** Has the engine wait less long for the server's answer than it does for people. */
  function shortenAnswers(limit: number) {
    const { setTimeout: real } = globalThis;
    const shorter = (callback: () => void, delay?: number, ...values: []) =>
      real(callback, delay === ANSWER_MS ? limit : delay, ...values);
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(Object.assign(shorter, real));
  }
});
