import { CancelIf, Step, Workflow, WorkflowOf, type StepContext } from 'nestjs-pg-workflows';
import { Client } from 'pg';
import { attempts } from './support/attempts';
import { createLedger, EVERY_KIND, EveryKind, notAtOnce, PlainKind, untilAllFinished } from './support/every-kind';
import { untilWaitingForLocks } from './support/locks';
import { captureLog } from './support/log';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

@Workflow({ name: 'ConflictGuarded' })
class Guarded extends WorkflowOf<null, { script: string }> {
  @CancelIf()
  never() {
    return false;
  }

  @Step()
  async only() {}
}

describe('conflicts in the database', () => {
  const suite = workflowSuite();

  beforeAll(() => createLedger(suite.sql));
  afterEach(() => jest.restoreAllMocks());

  const deadlocks = async () => {
    const [row] = await suite.sql<{ deadlocks: number }>(
      `select pg_stat_force_next_flush(), deadlocks::int from pg_stat_database where datname = current_database()`,
    );
    return row.deadlocks;
  };

  /**
   * Meets the engine in a deadlock: takes a run's newest row first, and once the engine, which locks the run first, waits for that row, the run.
   * The engine's statement finds out first, and is the one to be ended.
   */
  async function cross(runId: string): Promise<{ readonly meet: () => Promise<void> }> {
    const before = await deadlocks();
    const client = new Client({ connectionString: suite.database.url });
    await client.connect();
    await client.query(`set deadlock_timeout = '1min'`);
    await client.query('begin');
    await client.query(
      'select from workflow_steps where id = (select max(id) from workflow_steps where workflow_id = $1) for update',
      [runId],
    );
    return {
      async meet() {
        await untilWaitingForLocks(suite, 1);
        await client.query('select from workflows where id = $1 for no key update', [runId]);
        await client.query('commit');
        await client.end();
        await suite.eventually(async () => (await deadlocks()) > before, 'the server counted a deadlock');
      },
    };
  }

  const scripted = async ({ workflows }: TestApp, ending?: Parameters<typeof held>[0]) => {
    const one = held(ending);
    const run = await workflows.start(
      Scripted,
      script({ one: (ctx) => (ctx.attempt === 1 ? one.body(ctx) : undefined) }),
    );
    await one.reached;
    return { run, release: one.release };
  };

  test('OPS-18 a verb that meets a real deadlock is applied all the same, once', async () => {
    const { workflows } = await suite.boot([PlainKind], { worker: false });
    const run = await workflows.start(PlainKind);
    const { meet } = await cross(run.id);
    const paused = run.pause();
    await meet();
    expect((await paused).status).toBe('paused');
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'paused']);
  });

  test('IDEM-01 settlements that meet a real deadlock, in a set and alone, store their outcome, once', async () => {
    const log = captureLog();
    const app = await suite.boot([Scripted]);
    for (const ending of [undefined, (ctx: StepContext) => ctx.reattempt()]) {
      const { run, release } = await scripted(app, ending);
      const { meet } = await cross(run.id);
      release();
      await meet();
      await suite.until(run, 'finished');
      expect(await attempts(run)).toEqual([
        ...(ending ? ['one#1 failed, reattempted', 'one#2 completed'] : ['one#1 completed']),
        'two#1 completed',
        'three#1 completed',
      ]);
      expect(await suite.trail(run)).not.toContain('late_completion_ignored');
    }
    expect(app.reported).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  test('IDEM-07 a claim of a set that meets a real deadlock is made again, and nobody fails', async () => {
    captureLog();
    const starter = await suite.boot([PlainKind, Guarded], { worker: false });
    const run = await starter.workflows.start(PlainKind);
    const { meet } = await cross(run.id);
    const { reported } = await suite.boot([PlainKind, Guarded]);
    await meet();
    await suite.until(run, 'finished');
    expect(await notAtOnce(suite.sql, [run])).toEqual([]);
    expect(reported).toEqual([]);
  });

  test('IDEM-07 a claim of a guarded step waits for nobody who holds its row: others run, and it does when it is let go', async () => {
    captureLog();
    const starter = await suite.boot([PlainKind, Guarded], { worker: false });
    const kept = await starter.workflows.start(Guarded, { args: { script: '' } });
    const client = new Client({ connectionString: suite.database.url });
    await client.connect();
    await client.query('begin');
    await client.query('select from workflow_steps where workflow_id = $1 for update', [kept.id]);
    const { reported } = await suite.boot([PlainKind, Guarded]);
    const other = await starter.workflows.start(Guarded, { args: { script: '' } });
    await suite.until(other, 'finished');
    expect((await kept.reload()).status).toBe('ready');
    await client.query('commit');
    await client.end();
    await suite.until(kept, 'finished');
    expect(reported).toEqual([]);
  });

  test.each(['40001', '40P01'])(
    'OPS-18 %s out of a trigger of the application: start, verbs, claims and settlements are tried again until they are through',
    async (state) => {
      captureLog();
      // Every other insert fails: a sequence counts on though the transaction is rolled back.
      await suite.sql('create sequence conflicts');
      await suite.sql(`
        create function conflict() returns trigger language plpgsql as $$
        begin
          -- A claim that finds nothing inserts no row, and comes by all the same.
          if exists (select from added) then
            if nextval('conflicts') % 2 = 1 then raise exception 'conflict' using errcode = '${state}'; end if;
          end if;
          return null;
        end $$`);
      await suite.sql(
        'create trigger conflict after insert on workflow_events referencing new table as added for each statement execute function conflict()',
      );
      try {
        const { workflows, reported } = await suite.boot([PlainKind, Guarded, Scripted]);
        // One after the other: whatever is tried fails the first time, and is through the second time.
        const plain = await workflows.start(PlainKind);
        await suite.until(plain, 'finished');
        const guarded = await workflows.start(Guarded, { args: { script: '' } });
        await suite.until(guarded, 'finished');
        const one = held();
        const paused = await workflows.start(Scripted, script({ one: one.body }));
        await one.reached;
        expect((await paused.pause()).status).toBe('paused');
        expect((await paused.resume()).status).toBe('performing');
        one.release();
        await suite.until(paused, 'finished');
        expect(await notAtOnce(suite.sql, [plain, guarded, paused])).toEqual([]);
        const [{ raised }] = await suite.sql<{ raised: number }>('select last_value::int as raised from conflicts');
        expect(raised).toBeGreaterThan(10);
        expect(reported).toEqual([]);
      } finally {
        await suite.sql('drop trigger conflict on workflow_events; drop function conflict; drop sequence conflicts');
      }
    },
  );

  test.each(['repeatable read', 'serializable'])(
    'IDEM-07 on a database whose default is %s, said once at boot: workers, verbs and starts at once, and no 40001 reaches anybody',
    async (level) => {
      const log = captureLog();
      await suite.sql(`alter database ${suite.database.name} set default_transaction_isolation = '${level}'`);
      try {
        const apps = [await suite.boot(EVERY_KIND), await suite.boot(EVERY_KIND), await suite.boot(EVERY_KIND)];
        expect(log.saying(/default_transaction_isolation/)).toHaveLength(3);
        const started = await Promise.all(
          times(40, (n) =>
            n % 2 ? apps[n % 3].workflows.start(PlainKind) : apps[n % 3].workflows.start(EveryKind, { args: { n } }),
          ),
        );
        for (const [n, run] of started.entries())
          if (n % 5 === 0)
            await run
              .pause()
              .then((one) => one.resume())
              .catch(isTooLate);
        await untilAllFinished(suite, apps[0], started);
        expect(await notAtOnce(suite.sql, started)).toEqual([]);
        expect(apps.flatMap(({ reported }) => reported)).toEqual([]);
        expect(log.saying(/failed:|could not/)).toEqual([]);
      } finally {
        await suite.sql(`alter database ${suite.database.name} reset default_transaction_isolation`);
      }
    },
  );

  test('SWEEP-02 on such a database leases are renewed without a conflict, though others write their rows all the time', async () => {
    const log = captureLog();
    await suite.sql(`alter database ${suite.database.name} set default_transaction_isolation = 'repeatable read'`);
    const bodies = times(400, () => held());
    const enough = new AbortController();
    try {
      const { workflows } = await suite.boot([Scripted], { worker: { lease: '1s', concurrency: bodies.length } });
      const runs = await workflows.startMany(
        Scripted,
        bodies.map(({ body }) => script({ one: body })),
      );
      await Promise.all(bodies.map(({ reached }) => reached));
      const leases = new Set<string>();
      // One row, one commit: what the renewal saw as it began is no longer so when it comes to lock it.
      const write = async (client: number) => {
        for (let n = client; !enough.signal.aborted; n += 4) {
          const [row] = await suite
            .sql<{ lease: string }>(
              `with written as (
                 update workflow_steps set worker = worker where workflow_id = $1 and status = 'in_progress'
                 returning lease_expires_at
               ) select lease_expires_at::text as lease from written`,
              [runs[n % runs.length].id],
            )
            .catch(() => []);
          if (row) leases.add(row.lease);
        }
      };
      const writing = Promise.all(times(4, write));
      await suite.eventually(() => leases.size > 10, 'the leases were renewed again and again');
      enough.abort();
      await writing;
      for (const { release } of bodies) release();
      await untilAllFinished(suite, { workflows }, runs);
      expect(log.saying(/could not serialize/)).toEqual([]);
    } finally {
      enough.abort();
      for (const { release } of bodies) release();
      await suite.sql(`alter database ${suite.database.name} reset default_transaction_isolation`);
    }
  });

  /** A run that had finished already cannot be paused; anything else is news. */
  const isTooLate = (error: Error) => expect(['InvalidTransitionError', 'NotPausedError']).toContain(error.name);
});
