import {
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type JobContext,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { body, runBody } from './support/bodies';
import { ensureBuilt } from './support/built';
import { fanning, fanScript, membersOf, Task } from './support/fan';
import { captureLog } from './support/log';
import { Mark, RemoteWorker, type RemoteOptions } from './support/remote-worker';
import { REMOTE, RemoteFan, RemoteGuarded, RemotePlain, RemoteTransactional } from './support/remote-workflows.mjs';
import { held, script, Scripted } from './support/scripted';
import { gate, workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, stallTrail } from './support/sweep';
import { TcpProxy } from './support/tcp-proxy';

@Workflow()
class Transactional extends WorkflowOf<null, { key: string }> {
  @Step({ transactional: true })
  async first(ctx: Ctx<this>) {
    await ctx.manager.query('insert into shutdown_writes values ($1)', [ctx.workflowId]);
    await runBody(ctx);
  }

  @Step()
  async last(_ctx: Ctx<this>) {}
}

@Workflow()
class Guarded extends WorkflowOf<null, { key: string }> {
  @Step({
    skipIf: async (ctx: StepContext) => {
      await runBody(ctx);
      return false;
    },
  })
  async first(_ctx: Ctx<this>) {}

  @Step()
  async last(_ctx: Ctx<this>) {}
}

const Fans = fanning('StoppedFans');

/** Runs of every kind whose code is at work, and ends as `ending` does once it is released. */
interface AtWork {
  readonly plain: WorkflowHandle;
  readonly transactional: WorkflowHandle;
  readonly guarded: WorkflowHandle;
  readonly fan: WorkflowHandle;
  readonly all: readonly WorkflowHandle[];
  readonly signals: Readonly<Record<'plain' | 'transactional' | 'guarded' | 'fan', AbortSignal>>;
}

describe('shutdown', () => {
  const suite = workflowSuite();
  const { sql, until, eventually, trail } = suite;

  beforeAll(() => sql('create table shutdown_writes (workflow_id uuid)'));
  afterEach(async () => {
    jest.restoreAllMocks();
    // What one test leaves at work is not for the workers of the next.
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals, shutdown_writes');
  });

  const CLASSES = [Scripted, Transactional, Guarded, Fans, Task];

  async function atWork({ workflows }: TestApp, ending: (signal: AbortSignal) => unknown): Promise<AtWork> {
    const signals: Partial<Record<keyof AtWork['signals'], AbortSignal>> = {};
    const work =
      (kind: keyof AtWork['signals']) =>
      async ({ abortSignal }: Pick<StepContext | JobContext, 'abortSignal'>) => {
        signals[kind] = abortSignal;
        await ending(abortSignal);
      };
    const plain = await workflows.start(Scripted, script({ one: work('plain') }));
    const transactional = await workflows.start(Transactional, body(work('transactional')));
    const guarded = await workflows.start(Guarded, body(work('guarded')));
    const fan = await workflows.start(Fans, fanScript({ size: 1, task: (_n, job) => work('fan')(job) }));
    await eventually(() => Object.keys(signals).length === 4, 'all are at work');
    const all = [plain, transactional, guarded, fan];
    return { plain, transactional, guarded, fan, all, signals: signals as AtWork['signals'] };
  }

  const openRows = async () =>
    sql(`select step_name, member_index, status from workflow_steps where status = 'in_progress' order by id`);

  test('SWEEP-17 a stop claims no more; what ends within the grace records its outcome normally, and is not gone on with', async () => {
    const app = await suite.boot(CLASSES, { worker: { shutdownGrace: '20s' } });
    const released = gate();
    const { plain, transactional, guarded, fan, all, signals } = await atWork(app, () => released.opened);
    const closing = app.close();
    const starter = await suite.boot(CLASSES, { worker: false });
    // Due, announced, and polled for: nobody claims it.
    const due = await starter.workflows.start(Scripted, script({}));
    await new Promise(setImmediate);
    released.open();
    await closing;

    const now = async (run: WorkflowHandle) => attempts(await starter.workflows.find(run.id));
    expect(await now(due)).toEqual(['one#1 scheduled']);
    expect(await now(plain)).toEqual(['one#1 completed', 'two#1 scheduled']);
    expect(await now(transactional)).toEqual(['first#1 completed', 'last#1 scheduled']);
    expect(await sql('select workflow_id as id from shutdown_writes')).toEqual([{ id: transactional.id }]);
    expect(await now(guarded)).toEqual(['first#1 completed', 'last#1 scheduled']);
    expect(await membersOf(sql, fan)).toEqual(['fan 1 [0] completed']);
    expect(await now(fan)).toEqual(['fan#1 completed', 'after#1 scheduled']);
    expect(await openRows()).toEqual([]);
    expect(Object.values(signals).map(({ aborted }) => aborted)).toEqual([false, false, false, false]);

    await suite.boot(CLASSES);
    for (const run of [...all, due]) await until(run, 'finished');
  });

  test('SWEEP-17 FLOW-18 after the grace every abortSignal aborts and says why; what obeys is settled, and nothing is left in progress', async () => {
    const log = captureLog();
    const app = await suite.boot(CLASSES, { worker: { shutdownGrace: 50 } });
    const obey = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const { plain, transactional, guarded, fan, signals } = await atWork(app, obey);
    await app.close();
    for (const kind of ['plain', 'transactional', 'fan'] as const) {
      expect((signals[kind].reason as Error).message).toMatch(/shutting down/);
    }
    expect(await openRows()).toEqual([]);

    const { workflows } = await suite.boot(CLASSES, { worker: false });
    const now = async (run: WorkflowHandle) => attempts(await workflows.find(run.id));
    // Errors like any other: by default they pause.
    expect(await now(plain)).toEqual(['one#1 failed, paused: Error']);
    expect(await now(transactional)).toEqual(['first#1 failed, paused: Error']);
    // A guard that is still asked is cut off with its claim, which is rolled back: the step is due as before.
    expect(await now(guarded)).toEqual(['first#1 scheduled']);
    expect(await sql('select from shutdown_writes')).toEqual([]);
    expect(await membersOf(sql, fan)).toEqual(['fan 1 [0] scheduled']);
    expect(log.saying(/after shutdownGrace \(50 ms\)/)).toHaveLength(1);
  });

  test('SWEEP-17 a body that hears the abort may end as it likes: return, or be tried again by the next worker', async () => {
    const app = await suite.boot(CLASSES, { worker: { shutdownGrace: 0 } });
    const aborted = ({ abortSignal }: StepContext) =>
      new Promise((resolve) => abortSignal.addEventListener('abort', resolve, { once: true }));
    const [returning, again] = [held(aborted), held((ctx) => aborted(ctx).then(() => ctx.reattempt()))];
    const runs = [
      await app.workflows.start(Scripted, script({ one: returning.body })),
      await app.workflows.start(Scripted, script({ one: (ctx) => (ctx.attempt === 1 ? again.body(ctx) : undefined) })),
    ];
    for (const one of [returning, again]) {
      await one.reached;
      one.release();
    }
    await app.close();
    await suite.boot(CLASSES);
    for (const run of runs) await until(run, 'finished');
    expect(
      await sql(
        `select attempt, outcome from workflow_steps where step_name = 'one' and workflow_id = $1 order by id`,
        [runs[1].id],
      ),
    ).toEqual([
      { attempt: 1, outcome: 'reattempted' },
      { attempt: 2, outcome: 'completed' },
    ]);
  });

  test('SWEEP-17 code that never ends does not hold up a stop, in whatever it stands: its row is left to the judges of other workers', async () => {
    const log = captureLog();
    const app = await suite.boot(CLASSES, {
      worker: { shutdownGrace: 50, lease: '1s' },
      dataSource: { applicationName: 'to be stopped' },
    });
    const never = () => new Promise(() => undefined);
    const { plain, transactional, guarded, fan } = await atWork(app, never);
    const reached = gate();
    const holding = await app.workflows.start(
      Scripted,
      script({
        one: (ctx) =>
          ctx.manager.transaction(async (manager) => {
            await manager.query('select 1');
            reached.open();
            await never();
          }),
      }),
    );
    await reached.opened;
    expect((await named()).length).toBeGreaterThan(2);
    await app.close();
    expect(log.saying(/^Stopped, with \d+ not settled/)).toHaveLength(1);
    // Nothing of it is connected any more: neither pool, nor leases, nor listener.
    await eventually(async () => (await named()).length === 0, 'all its connections have ended');

    const judge = await suite.boot(CLASSES, { worker: { lease: '1s', ...CLAIMS_NOTHING } });
    // The guard's claim was rolled back: its step is due as before.
    expect(await attempts(await judge.workflows.find(guarded.id))).toEqual(['first#1 scheduled']);
    await eventually(async () => (await openRows()).length === 0, 'the judge has taken what was left');
    for (const run of [plain, transactional, holding]) {
      expect((await trail(run)).slice(-3)).toEqual(['stall_detected', 'step_failed', 'paused']);
    }
    expect(await membersOf(sql, fan)).toEqual(['fan 1 [0] scheduled']);
    expect(await sql('select from shutdown_writes')).toEqual([]);
  });

  /** Connections of applications that say their name: the suite's own do not. */
  async function named(): Promise<string[]> {
    const rows = await sql<{ name: string }>(
      `select application_name as name from pg_stat_activity where datname = current_database() and application_name <> ''`,
    );
    return rows.map(({ name }) => name);
  }

  describe('of a process', () => {
    const processes: RemoteWorker[] = [];
    const proxies: TcpProxy[] = [];

    const start = async (options: Partial<RemoteOptions> = {}) => {
      const remote = await RemoteWorker.start({ url: suite.database.url, ...options });
      processes.push(remote);
      return remote;
    };

    beforeAll(ensureBuilt, 120_000);
    afterEach(async () => {
      await Promise.all(processes.splice(0).map((remote) => remote.kill()));
      await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    });

    test('SWEEP-17 SIGTERM: what obeys is settled, nothing is left in progress, and the process ends by the signal', async () => {
      const remote = await start({ settings: { worker: { shutdownGrace: '1s' } } });
      const { workflows } = await suite.boot(REMOTE, { worker: false });
      const mark = new Mark();
      const inTime = await workflows.start(RemotePlain, { args: { does: 'wait', until: mark.path } });
      const plain = await workflows.start(RemotePlain, { args: { does: 'obey' } });
      const transactional = await workflows.start(RemoteTransactional, { args: { does: 'obey' } });
      const returning = await workflows.start(RemoteTransactional, { args: { does: 'return when aborted' } });
      const guarded = await workflows.start(RemoteGuarded, { args: { does: 'obey' } });
      const fan = await workflows.start(RemoteFan, { args: { does: 'return when aborted' } });
      await remote.reached(inTime, plain, transactional, returning, guarded, fan);
      expect(await remote.terminate(() => mark.set())).toEqual({ code: null, signal: 'SIGTERM' });
      mark.remove();
      expect(await openRows()).toEqual([]);
      expect(remote.aborted.get(plain.id)).toMatch(/shutting down/);
      expect(remote.aborted.has(inTime.id)).toBe(false);
      expect(await attempts(inTime)).toEqual(['act#1 completed', 'last#1 scheduled']);
      expect(await attempts(plain)).toEqual(['act#1 failed, paused: Error']);
      expect(await attempts(transactional)).toEqual(['act#1 failed, paused: Error']);
      expect(await attempts(guarded)).toEqual(['act#1 scheduled']);
      expect(await attempts(returning)).toEqual(['act#1 completed', 'last#1 scheduled']);
      expect(await membersOf(sql, fan)).toEqual(['act 1 [0] completed']);
      await suite.boot(REMOTE, { worker: { shutdownGrace: 0 } });
      for (const run of [inTime, returning, fan]) await until(run, 'finished');
    });

    test('SWEEP-17 SIGTERM: bodies, statements, guards and members that never end do not keep the process; the judge takes their rows', async () => {
      const remote = await start({ settings: { worker: { shutdownGrace: 100, lease: '1s' } } });
      const judge = await suite.boot(REMOTE, { worker: { lease: '1s', ...CLAIMS_NOTHING } });
      const does = (deed: 'never' | 'hold' | 'query') => ({ args: { does: deed } });
      const lost = [
        await judge.workflows.start(RemotePlain, does('never')),
        await judge.workflows.start(RemotePlain, does('hold')),
        await judge.workflows.start(RemotePlain, does('query')),
        await judge.workflows.start(RemoteTransactional, does('never')),
        await judge.workflows.start(RemoteTransactional, does('query')),
      ];
      const guarded = await judge.workflows.start(RemoteGuarded, does('never'));
      const fan = await judge.workflows.start(RemoteFan, does('never'));
      await remote.reached(...lost, guarded, fan);
      // Within the grace, the two seconds that an abort is given, and what the pool takes.
      expect(await remote.terminate()).toEqual({ code: null, signal: 'SIGTERM' });
      for (const run of lost) {
        await until(run, 'paused');
        expect(await stallTrail(sql, run)).toEqual([
          'stall_detected lease by system',
          'step_failed by system',
          'paused by system',
        ]);
      }
      await eventually(
        async () => (await membersOf(sql, fan))[0].endsWith('scheduled'),
        'the member is to be tried again',
      );
      expect(await attempts(guarded)).toEqual(['act#1 scheduled']);
    });

    test('SWEEP-17 SIGTERM while the database refuses: the process ends, and its row is taken by the judge', async () => {
      const { proxy, remote, run } = await behindProxy();
      proxy.newcomers = 'refuse';
      proxy.cut();
      expect(await remote.terminate()).toEqual({ code: null, signal: 'SIGTERM' });
      await until(run, 'paused');
    });

    test('SWEEP-17 SIGTERM while the database says nothing any more, not to what is asked already either: the same', async () => {
      const { proxy, remote, run } = await behindProxy();
      let asked = false;
      proxy.newcomers = 'hang';
      proxy.onRequest = (bytes) => {
        if (!bytes.includes('wf_passed_deadlines')) return 'pass';
        asked = true;
        return 'freeze';
      };
      await eventually(() => asked, 'it waits for an answer');
      proxy.freeze();
      expect(await remote.terminate()).toEqual({ code: null, signal: 'SIGTERM' });
      await until(run, 'paused');
    });

    /** A process with a body at work, its way to the database, and a judge that has a way of its own. */
    async function behindProxy() {
      const proxy = await TcpProxy.before(suite.database.url);
      proxies.push(proxy);
      const remote = await start({ url: proxy.url, settings: { worker: { shutdownGrace: 100, lease: '1s' } } });
      const judge = await suite.boot(REMOTE, { worker: { lease: '1s', ...CLAIMS_NOTHING } });
      const run = await judge.workflows.start(RemotePlain, { args: { does: 'return when aborted' } });
      await remote.reached(run);
      return { proxy, remote, run };
    }

    test('TEST-10 SWEEP-17 after app.close() no timer, socket or thread keeps the process: it ends by itself', async () => {
      const remote = await start();
      const { workflows } = await suite.boot(REMOTE, { worker: false });
      const run = await workflows.start(RemotePlain, { args: { does: 'return' } });
      await until(run, 'finished');
      await remote.sweep();
      expect(await remote.close()).toEqual({ code: 0, signal: null });
      expect(remote.log).not.toMatch(/ERROR|WARN/);
    });

    test('TEST-10 SWEEP-17 it does so too when code goes on that never ends', async () => {
      const remote = await start({ settings: { worker: { shutdownGrace: 0 } } });
      const { workflows } = await suite.boot(REMOTE, { worker: false });
      const runs = [
        await workflows.start(RemotePlain, { args: { does: 'never' } }),
        await workflows.start(RemotePlain, { args: { does: 'hold' } }),
        await workflows.start(RemotePlain, { args: { does: 'query' } }),
        await workflows.start(RemoteTransactional, { args: { does: 'query' } }),
        await workflows.start(RemoteGuarded, { args: { does: 'never' } }),
        await workflows.start(RemoteFan, { args: { does: 'never' } }),
      ];
      await remote.reached(...runs);
      expect(await remote.close()).toEqual({ code: 0, signal: null });
    });
  });
});
