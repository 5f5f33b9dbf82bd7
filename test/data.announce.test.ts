import { Client } from 'pg';
import { DataSource } from 'typeorm';
import {
  Step,
  Workflow,
  WorkflowEntities,
  WorkflowOf,
  type Ctx,
  type EventName,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { channelOf, parseAnnouncement } from '../libs/workflow/src/store/channel';
import { tablesOf } from '../libs/workflow/src/store/tables';
import type { Announcement, Wakeup } from '../libs/workflow/src/store/wakeup';
import { WAKEUP } from '../libs/workflow/src/workflow.runtime';
import { newestRow } from './support/rows';
import { gate, workflowSuite, type TestApp } from './support/suite';

const HOUR = 3_600_000;

/** Its steps are an hour apart, so that each is scheduled, announced, and not taken. */
@Workflow()
class Spaced extends WorkflowOf<null, { as?: string }> {
  static reached = gate();
  static goOn = gate();

  @Step({ jobOptions: { queue: 'spaced', priority: 3 } })
  async one(ctx: Ctx<this>) {
    if (!ctx.args.as) return;
    Spaced.reached.open();
    await Spaced.goOn.opened;
    if (ctx.args.as === 'reattempt') ctx.reattempt({ wait: '1 hour' });
    if (ctx.args.as === 'skip') ctx.skip();
  }

  @Step({ wait: '1 hour', jobOptions: { queue: 'spaced', priority: 3 } })
  async two() {}
}

@Workflow()
class SpacedTransactional extends WorkflowOf {
  @Step({ transactional: true })
  async one() {
    Spaced.reached.open();
    await Spaced.goOn.opened;
  }

  @Step({ wait: '1 hour', jobOptions: { queue: 'spaced', priority: 3 } })
  async two() {}
}

describe('announcements to workers', () => {
  const suite = workflowSuite();
  const { sql } = suite;
  const boot = (options = {}) => suite.boot([Spaced, SpacedTransactional], options);
  const LOCK = 4711;

  beforeAll(async () => {
    await sql('create table gates (name text)');
    // Runs as the transaction commits, when all its statements have: the commit then waits for the test.
    await sql(`create function wait_at_gate() returns trigger language plpgsql as $$ begin
      if exists (select from gates where name = new.name) then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
      return null;
    end $$`);
    await sql(`create constraint trigger wait_at_commit after insert on workflow_events deferrable initially deferred
      for each row execute function wait_at_gate()`);
  });

  beforeEach(() => {
    Spaced.reached = gate();
    Spaced.goOn = gate();
  });

  /** Stops every transaction that wrote this event at its commit. */
  async function stopCommitsOf(event: EventName): Promise<{ reached(): Promise<void>; open(): Promise<void> }> {
    const client = new Client({ connectionString: suite.database.url });
    await client.connect();
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await sql('insert into gates values ($1)', [event]);
    return {
      reached: () =>
        suite.eventually(
          async () =>
            (await sql(`select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`))
              .length > 0,
          'a transaction is at its commit',
        ),
      open: async () => {
        await sql('delete from gates');
        await client.end();
      },
    };
  }

  function announcementsOf({ app }: TestApp): Announcement[] {
    const heard: Announcement[] = [];
    app.get<Wakeup>(WAKEUP, { strict: false }).listen((announcement) => heard.push(announcement));
    return heard;
  }

  const tomorrow = new Date(Date.now() + 24 * HOUR);
  const CHANGES: {
    what: string;
    event: EventName;
    prepare?: (run: WorkflowHandle) => Promise<unknown>;
    change: (run: WorkflowHandle, app: TestApp) => Promise<unknown>;
    dueIn: number;
    /** How many rows it says, where they are several. */
    rows?: number;
  }[] = [
    {
      what: 'a start',
      event: 'started',
      change: (_run, { workflows }) => workflows.start(Spaced, { args: {} }),
      dueIn: 0,
    },
    {
      what: 'startMany',
      event: 'started',
      change: (_run, { workflows }) => workflows.startMany(Spaced, [{ args: {} }, { args: {} }]),
      dueIn: 0,
      rows: 2,
    },
    { what: 'resume', event: 'resumed', prepare: (run) => run.pause(), change: (run) => run.resume(), dueIn: 0 },
    {
      what: 'resumeAt',
      event: 'resumed',
      prepare: (run) => run.pause(),
      change: (run) => run.resumeAt('two'),
      dueIn: 0,
    },
    {
      what: 'runNow',
      event: 'run_now',
      prepare: (run) => run.reschedule(tomorrow),
      change: (run) => run.runNow(),
      dueIn: 0,
    },
    { what: 'reschedule', event: 'rescheduled', change: (run) => run.reschedule(tomorrow), dueIn: 24 * HOUR },
    { what: 'rerun', event: 'rerun', prepare: (run) => run.cancel(), change: (run) => run.rerun(), dueIn: 0 },
  ];

  test.each(CHANGES)(
    'DATA-12 $what announces its row at its commit, not before',
    async ({ event, prepare, change, dueIn, rows }) => {
      const app = await boot({ worker: false });
      const run = await app.workflows.start(Spaced, { args: {} });
      await prepare?.(run);
      const heard = announcementsOf(app);
      const commit = await stopCommitsOf(event);
      const changed = change(run, app);
      await commit.reached();
      expect(heard).toEqual([]);
      await commit.open();
      await changed;
      const due = { kind: 'due', queue: 'spaced', priority: 3, dueIn: expect.any(Number) };
      expect(heard).toEqual([{ ...due, ...(rows && { rows }) }]);
      const [announcement] = heard as { dueIn: number }[];
      expect(announcement.dueIn).toBeGreaterThan(dueIn - 60_000);
      expect(announcement.dueIn).toBeLessThanOrEqual(dueIn);
      await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
      await sql('delete from workflow_events');
    },
  );

  test.each<[string, EventName, (app: TestApp) => Promise<WorkflowHandle>]>([
    ['completion', 'step_completed', ({ workflows }) => workflows.start(Spaced, { args: { as: 'completion' } })],
    ['skip', 'step_skipped', ({ workflows }) => workflows.start(Spaced, { args: { as: 'skip' } })],
    ['reattempt', 'step_reattempted', ({ workflows }) => workflows.start(Spaced, { args: { as: 'reattempt' } })],
    ['transactional step', 'step_completed', ({ workflows }) => workflows.start(SpacedTransactional)],
  ])('DATA-12 the %s of a step announces the next row at its commit, not before', async (_what, event, start) => {
    const app = await boot();
    const run = await start(app);
    await Spaced.reached.opened;
    const heard = announcementsOf(app);
    const commit = await stopCommitsOf(event);
    Spaced.goOn.open();
    await commit.reached();
    expect(heard).toEqual([]);
    await commit.open();
    await suite.eventually(() => heard.length > 0, 'the next row is announced');
    expect(heard).toEqual([{ kind: 'due', queue: 'spaced', priority: 3, dueIn: expect.any(Number) }]);
    expect((heard[0] as { dueIn: number }).dueIn).toBeGreaterThan(HOUR - 60_000);
    expect(await newestRow(sql, run)).toMatchObject({ status: 'scheduled' });
  });

  test('DATA-12 under a pause nothing is announced, for nothing may be claimed', async () => {
    const app = await boot();
    const run = await app.workflows.start(Spaced, { args: { as: 'completion' } });
    await Spaced.reached.opened;
    const heard = announcementsOf(app);
    await run.pause();
    Spaced.goOn.open();
    await suite.eventually(async () => (await newestRow(sql, run)).step_name === 'two', 'the next row is held');
    await app.close();
    expect(heard).toEqual([]);
  });

  describe('to other processes', () => {
    let client: Client;
    let heard: Announcement[];
    let channel: string;

    beforeEach(async () => {
      const own = await new DataSource({
        type: 'postgres',
        url: suite.database.url,
        entities: [...WorkflowEntities],
      }).initialize();
      channel = channelOf(tablesOf(own));
      await own.destroy();
      client = new Client({ connectionString: suite.database.url });
      heard = [];
      await client.connect();
      client.on('notification', ({ payload }) => {
        const parsed = parseAnnouncement(payload ?? '');
        if (parsed) heard.push(parsed.announcement);
      });
      await client.query(`listen ${channel}`);
    });

    afterEach(() => client.end());

    /** Everything that was sent before has arrived: notifications come in the order of their commits. */
    async function untilDelivered(): Promise<void> {
      const delivered = gate();
      client.on('notification', ({ payload }) => payload === 'delivered' && delivered.open());
      await sql('select pg_notify($1, $2)', [channel, 'delivered']);
      await delivered.opened;
    }

    test("DATA-12 a start in the caller's transaction is heard after the commit, one that is rolled back never", async () => {
      const app = await boot({ worker: false });
      await app.dataSource.transaction(async (manager) => {
        await app.workflows.start(Spaced, { args: {}, manager });
        await untilDelivered();
        expect(heard).toEqual([]);
      });
      await suite.eventually(() => heard.length > 0, 'the other process was told');
      expect(heard).toEqual([{ kind: 'due', queue: 'spaced', priority: 3, dueIn: expect.any(Number) }]);

      const failing = app.dataSource.transaction(async (manager) => {
        await app.workflows.start(Spaced, { args: {}, manager });
        throw new Error('rolled back');
      });
      await expect(failing).rejects.toThrow('rolled back');
      // What is still to be sent is sent before an application stops.
      await app.close();
      await untilDelivered();
      expect(heard).toHaveLength(1);
    });

    test('DATA-12 a transaction begun without TypeORM carries the notification itself, so that its commit sends it', async () => {
      const app = await boot({ worker: false });
      for (const end of ['rollback', 'commit']) {
        const runner = app.dataSource.createQueryRunner();
        await runner.query('begin');
        await app.workflows.start(Spaced, { args: {}, manager: runner.manager });
        await untilDelivered();
        expect(heard).toEqual([]);
        await runner.query(end);
        await runner.release();
      }
      await untilDelivered();
      expect(heard).toEqual([{ kind: 'due', queue: 'spaced', priority: 3, dueIn: expect.any(Number) }]);
    });

    test('DATA-12 what a settlement schedules is heard once it can be read', async () => {
      // The worker would go on with what other tests started.
      await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
      const app = await boot();
      const run = await app.workflows.start(Spaced, { args: { as: 'completion' } });
      await Spaced.reached.opened;
      await suite.eventually(() => heard.length > 0, 'the start was told');
      heard.splice(0);
      Spaced.goOn.open();
      const isOfNextRow = (told: Announcement) => told.kind === 'due' && told.dueIn > HOUR - 60_000;
      await suite.eventually(() => heard.some(isOfNextRow), 'the next row was told');
      expect(await newestRow(sql, run)).toMatchObject({ step_name: 'two', status: 'scheduled' });
    });
  });
});
