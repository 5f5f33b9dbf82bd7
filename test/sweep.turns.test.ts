import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Step, Workflow, WorkflowHealthIndicator, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { Client } from 'pg';
import { ENGINE_PARTS } from '../libs/workflow/src/engine/engine.parts';
import { sweepKey } from '../libs/workflow/src/store/leases';
import { attempts } from './support/attempts';
import { fanning, fanScript, Task } from './support/fan';
import { holdRuns } from './support/locks';
import { captureLog } from './support/log';
import { script, Scripted } from './support/scripted';
import { gate, workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, leaveAllInProgress, parkAll, sweep } from './support/sweep';

@Workflow({ name: 'Shortened' })
class Before extends WorkflowOf {
  @Step({ waitFor: 'go' })
  async dropped() {}

  @Step()
  async last() {}
}

@Workflow({ name: 'Shortened' })
class After extends WorkflowOf {
  @Step()
  async last() {}
}

let inside = 0;
let most = 0;
let occupied = gate();

/** Two steps, each of which counts how many are at work at once. */
@Workflow()
class Counted extends WorkflowOf {
  @Step()
  async plain() {
    await occupy();
  }

  @Step({ skipIf: () => false })
  async guarded() {
    await occupy();
  }
}

async function occupy() {
  inside += 1;
  most = Math.max(most, inside);
  await occupied.opened;
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  inside -= 1;
}

@Workflow()
class Queued extends WorkflowOf {
  @Step()
  async here(_ctx: Ctx<this>) {}

  @Step({ jobOptions: { queue: 'mail' } })
  async byMail(_ctx: Ctx<this>) {}

  @Step({ jobOptions: { queue: 'fax' } })
  async byFax(_ctx: Ctx<this>) {}
}

const Fans = fanning('CountedFans');

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

describe('whose turn it is to sweep, and what stops it', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;

  afterEach(() => jest.restoreAllMocks());

  /** Runs that wait on a step that is gone, which any sweep finds, in the order in which it looks at them. */
  async function stranded(count: number): Promise<string[]> {
    const { workflows } = await suite.boot([Before], { worker: false });
    const runs = await workflows.startMany(
      Before,
      times(count, () => ({})),
    );
    const ids = runs.map(({ id }) => id).toSorted();
    await parkAll(sql, ids);
    return ids;
  }

  /** Hung runs, in the order in which a sweep looks at them. */
  async function hung({ workflows }: TestApp, count: number): Promise<string[]> {
    const runs = await workflows.startMany(
      Scripted,
      times(count, () => script({})),
    );
    return leaveAllInProgress(
      sql,
      runs.map(({ id }) => id),
    );
  }

  /** How many of these runs are in which status. */
  const statuses = async (ids: readonly string[]) => {
    const rows = await sql<{ status: string; count: number }>(
      'select status, count(*)::int as count from workflows where id = any($1::uuid[]) group by status',
      [ids],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };

  const sweptHere = async ({ app }: TestApp) =>
    (await app.get(WorkflowHealthIndicator).isHealthy()).workflows.secondsSinceSweep !== null;

  /** Has the database refuse to change these runs' steps. */
  async function refuse(ids: readonly string[]): Promise<() => Promise<void>> {
    await sql('create table refused as select unnest($1::uuid[]) as id', [ids]);
    await sql(
      `create function refuse() returns trigger language plpgsql as
       $$ begin if exists (select from refused where id = new.workflow_id) then raise 'refused'; end if; return new; end $$`,
    );
    await sql('create trigger refuse before update on workflow_steps for each row execute function refuse()');
    return async () => {
      await sql('drop function refuse cascade');
      await sql('drop table refused');
    };
  }

  test('SWEEP-15 the sweep runs every sweepInterval, as an interval of the application’s SchedulerRegistry', async () => {
    const [run] = await stranded(1);
    const app = await suite.boot([After], {
      imports: [ScheduleModule.forRoot()],
      sweepInterval: 50,
      worker: CLAIMS_NOTHING,
    });
    const registry = app.app.get(SchedulerRegistry);
    expect(registry.getIntervals()).toContain('workflow-sweeper');
    await until(run, 'paused');
    await eventually(() => sweptHere(app), 'the sweep has ended');
    await app.close();
    expect(registry.getIntervals()).toEqual([]);
  });

  test('SWEEP-15 AMB-28 by default every five minutes, in processes with a worker only', async () => {
    const imports = [ScheduleModule.forRoot()];
    const worker = await suite.boot([After], { imports });
    const interval: unknown = worker.app.get(SchedulerRegistry).getInterval('workflow-sweeper');
    expect(interval).toMatchObject({ _repeat: 300_000 });
    const [run] = await stranded(1);
    const without = await suite.boot([After], { imports, worker: false });
    expect(without.app.get(SchedulerRegistry).getIntervals()).toEqual([]);
    await sweep(without);
    expect(await statuses([run])).toEqual({ waiting: 1 });
    await sweep(worker);
    expect(await statuses([run])).toEqual({ paused: 1 });
  });

  test('SWEEP-15 of several processes one sweeps at a time: while another is at it, a sweep does nothing', async () => {
    const [run] = await stranded(1);
    const app = await suite.boot([After], { worker: CLAIMS_NOTHING });
    const { database } = app.app.get(ENGINE_PARTS);
    const other = new Client({ connectionString: suite.database.url });
    await other.connect();
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock($1)', [sweepKey(database.tables)]);
    await sweep(app);
    expect(await statuses([run])).toEqual({ waiting: 1 });
    expect(await sweptHere(app)).toBe(false);
    await other.query('rollback');
    await other.end();
    await sweep(app);
    expect(await statuses([run])).toEqual({ paused: 1 });
    expect(await sweptHere(app)).toBe(true);
  });

  test('SWEEP-15 three processes that sweep at once resolve each run once', async () => {
    const runs = await stranded(20);
    const apps = [];
    for (let n = 0; n < 3; n += 1) apps.push(await suite.boot([After], { worker: CLAIMS_NOTHING }));
    await Promise.all(apps.flatMap((app) => [sweep(app), sweep(app)]));
    await sweep(apps[0]);
    expect(await statuses(runs)).toEqual({ paused: 20 });
    for (const run of runs)
      expect((await suite.trail(run)).slice(-3)).toEqual(['step_waiting', 'step_failed', 'paused']);
    expect(apps.flatMap(({ reported }) => reported)).toHaveLength(20);
  });

  test('SWEEP-15 more hung rows than one page holds fail: the others are stalled all the same, and none is tried twice in a sweep', async () => {
    const log = captureLog();
    const app = await suite.boot([Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '30s' });
    const runs = await hung(app, 110);
    const [failing, others] = [runs.slice(0, 101), runs.slice(101)];
    const allow = await refuse(failing);
    await sweep(app);
    expect(await statuses(others)).toEqual({ paused: 9 });
    expect(await statuses(failing)).toEqual({ performing: 101 });
    expect(log.saying(/declaring it so failed, and is tried again: refused/)).toHaveLength(101);
    // Left for longer and longer, not tried at every look.
    await sweep(app);
    expect(log.saying(/declaring it so failed, and is tried again: refused/).length).toBeLessThanOrEqual(2 * 101);
    await allow();
    await eventually(async () => {
      await sweep(app);
      return (await statuses(failing)).paused === 101;
    }, 'they are stalled once the database lets them');
    expect(app.reported).toHaveLength(110);
  });

  test('SWEEP-15 a stranded run that fails is logged and passed over, once a sweep', async () => {
    const log = captureLog();
    const runs = await stranded(110);
    const allow = await refuse(runs.slice(0, 101));
    const app = await suite.boot([After], { worker: CLAIMS_NOTHING });
    await sweep(app);
    expect(await statuses(runs)).toEqual({ waiting: 101, paused: 9 });
    expect(log.saying(/could not be swept, and is left to the next sweep: refused/)).toHaveLength(101);
    await allow();
    await sweep(app);
    expect(await statuses(runs)).toEqual({ paused: 110 });
  });

  test('SWEEP-15 one part of the sweep that fails as a whole does not keep it from the others', async () => {
    const log = captureLog();
    const [run] = await stranded(1);
    const app = await suite.boot([After, Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '30s' });
    const [first] = await hung(app, 1);
    await sql('alter table workflow_steps rename column job_attempt to tries');
    await sweep(app);
    await sql('alter table workflow_steps rename column tries to job_attempt');
    expect(log.saying(/^Sweeping steps in progress for too long failed/)).toHaveLength(1);
    expect(await statuses([run])).toEqual({ paused: 1 });
    expect(await statuses([first])).toEqual({ performing: 1 });
    await sweep(app);
    expect(await statuses([first])).toEqual({ paused: 1 });
  });

  test('SWEEP-15 a run that somebody holds is not waited for: the others are swept, and it is the next time', async () => {
    const [waits, ...others] = await stranded(3);
    const app = await suite.boot([After, Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '30s' });
    const [hangs] = await hung(app, 1);
    const lock = await holdRuns(suite, [waits, hangs]);
    await sweep(app);
    expect(await statuses([waits, hangs])).toEqual({ waiting: 1, performing: 1 });
    expect(await statuses(others)).toEqual({ paused: 2 });
    await lock.release();
    await eventually(async () => {
      await sweep(app);
      return (await statuses([waits, hangs])).paused === 2;
    }, 'they are swept too');
  });

  test('SWEEP-16 a worker serves its queues only', async () => {
    const app = await suite.boot([Queued, Scripted], { worker: { queues: ['default', 'mail'] } });
    const run = await app.workflows.start(Queued);
    await eventually(async () => (await attempts(run)).length === 3, 'the fax is to be sent');
    await until(await app.workflows.start(Scripted, script({})), 'finished');
    expect(await attempts(run)).toEqual(['here#1 completed', 'byMail#1 completed', 'byFax#1 scheduled']);
    await suite.boot([Queued], { worker: { queues: ['fax'] } });
    await until(run, 'finished');
  });

  test('SWEEP-16 concurrency is never exceeded, by plain and guarded steps and members together', async () => {
    [inside, most, occupied] = [0, 0, gate()];
    const starter = await suite.boot([Counted, Fans, Task], { worker: false });
    const runs = [
      ...(await starter.workflows.startMany(
        Counted,
        times(10, () => ({})),
      )),
      await starter.workflows.start(Fans, fanScript({ size: 10, task: occupy })),
    ];
    await suite.boot([Counted, Fans, Task], { worker: { concurrency: 3 } });
    await eventually(() => inside === 3, 'as many are at work as may be');
    occupied.open();
    for (const run of runs) await until(run, 'finished');
    expect(most).toBe(3);
  });

  test('SWEEP-16 listen: false works by polling alone', async () => {
    const starter = await suite.boot([Scripted], { worker: false });
    const worker = await suite.boot([Scripted], { worker: { listen: false } });
    const run = await starter.workflows.start(
      Scripted,
      script({ two: (ctx: StepContext) => ctx.attempt < 3 && ctx.reattempt({ wait: 20 }) }),
    );
    await until(run, 'finished');
    const health = await worker.app.get(WorkflowHealthIndicator).isHealthy();
    expect(health.workflows).toMatchObject({ listener: 'off', dispatcher: 'alive' });
    const listening = await sql(
      `select from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
    );
    expect(listening).toEqual([]);
  });
});
