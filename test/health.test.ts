import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { INestApplication, LoggerService } from '@nestjs/common';
import { WorkflowHealthIndicator, WorkflowModule, type WorkflowHealth } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { StatementTexts } from '../libs/workflow/src/store/connection';
import { WorkflowRuntime } from '../libs/workflow/src/workflow.runtime';
import { captureLog } from './support/log';
import { leaveInProgress } from './support/lost-worker';
import { allRows } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, sweep } from './support/sweep';

/** Every pair of statuses of a run and its open step that the transition table forbids; `none`: it has no open step. */
const FORBIDDEN = [
  ['ready', 'waiting'],
  ['ready', 'in_progress'],
  ['ready', 'none'],
  ['performing', 'scheduled'],
  ['performing', 'waiting'],
  ['performing', 'none'],
  ['waiting', 'scheduled'],
  ['waiting', 'in_progress'],
  ['waiting', 'none'],
  ['finished', 'scheduled'],
  ['finished', 'waiting'],
  ['finished', 'in_progress'],
  ['cancelled', 'scheduled'],
  ['cancelled', 'waiting'],
  ['cancelled', 'in_progress'],
] as const;

/** What Nest is to say of a health check that fails: nothing. */
class Quiet implements LoggerService {
  log(): void {}
  warn(): void {}
  error(): void {}
}

describe('the health check', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;

  afterEach(() => jest.restoreAllMocks());

  const healthOf = async ({ app }: Pick<TestApp, 'app'>): Promise<WorkflowHealth> =>
    (await app.get(WorkflowHealthIndicator).isHealthy()).workflows;

  /** Runs whose rows somebody edited by hand, all due, lapsed and overdue as far as their statuses go. */
  async function edited({ workflows }: TestApp, pairs: readonly (readonly [string, string])[]): Promise<string[]> {
    const runs = await workflows.startMany(
      Scripted,
      pairs.map(() => script({})),
    );
    for (const [at, { id }] of runs.entries()) {
      const [run, row] = pairs[at];
      const past = `statement_timestamp() - interval '2 hours'`;
      await sql(
        `update workflow_steps set status = $2, started_at = ${past}, scheduled_at = ${past}, available_at = case when $2 = 'scheduled' then ${past} end, waiting_since = ${past},
           timeout_at = ${past}, worker_id = gen_random_uuid(), worker = 'lost:1', claim_no = 1, lease_expires_at = ${past},
           wait_for = 'go', finished_at = case when $2 = 'completed' then ${past} end
         where workflow_id = $1`,
        [id, row === 'none' ? 'completed' : row],
      );
      await sql(
        `update workflows set status = $2, ended_at = case when $2 in ('finished', 'cancelled') then statement_timestamp() end where id = $1`,
        [id, run],
      );
    }
    return runs.map(({ id }) => id);
  }

  /** Whoever edited them takes them away again. */
  async function remove(ids: readonly string[]): Promise<void> {
    await sql('delete from workflow_events where workflow_id = any($1::uuid[])', [ids]);
    await sql('delete from workflows where id = any($1::uuid[])', [ids]);
  }

  test('MET-20 a worker that does its part is up, and says how it is', async () => {
    const worker = await suite.boot([Scripted], { worker: { lease: '1s' } });
    expect(await healthOf(worker)).toMatchObject({ secondsSinceSweep: null, inconsistentRuns: [] });
    await sweep(worker);
    await eventually(async () => {
      const { dispatcher, secondsSinceRenewal, listener } = await healthOf(worker);
      return dispatcher === 'alive' && secondsSinceRenewal !== null && listener === 'listening';
    }, 'all that runs in the background has begun');
    expect(await healthOf(worker)).toEqual({
      status: 'up',
      database: 'up',
      dispatcher: 'alive',
      listener: 'listening',
      secondsSinceLook: expect.any(Number),
      secondsSinceRenewal: expect.any(Number),
      secondsSinceSweep: expect.any(Number),
      oldestDueStepSeconds: 0,
      inconsistentRuns: [],
    });
    const without = await suite.boot([Scripted], { worker: false });
    expect(await healthOf(without)).toEqual({
      status: 'up',
      database: 'up',
      dispatcher: 'none',
      listener: 'off',
      secondsSinceLook: null,
      secondsSinceRenewal: null,
      secondsSinceSweep: null,
      oldestDueStepSeconds: 0,
      inconsistentRuns: [],
    });
    const named = await without.app.get(WorkflowHealthIndicator).isHealthy('ours');
    expect(Object.keys(named)).toEqual(['ours']);
  });

  test('MET-20 AMB-59 a database that does not answer, and a worker that does not look, make it down, and say so', async () => {
    const gone = await suite.boot([Scripted], { worker: false });
    await gone.dataSource.destroy();
    expect(await healthOf(gone)).toMatchObject({
      status: 'down',
      database: 'down',
      problem: expect.stringMatching(/^the database did not answer: ./),
      oldestDueStepSeconds: null,
    });

    const silent = await suite.boot([Scripted], { worker: { pollInterval: '2s' } });
    const dispatcher = silent.app.get(WorkflowRuntime)['dispatcher']!;
    await eventually(
      () => dispatcher.lookedAt !== null && !dispatcher['polling'] && !dispatcher['claiming'],
      'it has looked',
    );
    const looked = dispatcher.lookedAt!;
    dispatcher.lookedAt = looked - 19_000;
    expect(await healthOf(silent)).toMatchObject({ status: 'up', dispatcher: 'alive' });
    // Ten polls.
    dispatcher.lookedAt = looked - 20_001;
    expect(await healthOf(silent)).toMatchObject({
      status: 'down',
      database: 'up',
      dispatcher: 'silent',
      problem: 'due steps are not looked for',
    });
  });

  test('MET-20 AMB-59 claims that fail though the database answers make it down, and say why; so do leases that are not renewed', async () => {
    const app = await suite.boot([Scripted], { worker: { pollInterval: 20 } });
    const runtime = app.app.get(WorkflowRuntime);
    const dispatcher = runtime['dispatcher']!;
    await eventually(() => dispatcher.lookedAt !== null, 'it has looked');
    await suite.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no space' using errcode = '53100'; end $$`,
    );
    await suite.sql('create trigger refuse before update on workflow_steps for each row execute function refuse()');
    const run = await app.workflows.start(Scripted, script({}));
    await eventually(() => dispatcher.failing !== null, 'a claim has failed');
    const since = dispatcher.failing!.since;
    // A poll that is answered does not say that claims are.
    const looked = dispatcher.lookedAt!;
    await eventually(() => dispatcher.lookedAt! > looked, 'it has polled since');
    expect(dispatcher.failing).toMatchObject({ since, reason: 'no space' });
    expect(await healthOf(app)).toMatchObject({ status: 'up', dispatcher: 'alive' });
    dispatcher.failing = { since: since - 10_001, reason: 'no space' };
    expect(await healthOf(app)).toMatchObject({
      status: 'down',
      database: 'up',
      dispatcher: 'failing',
      problem: 'due steps cannot be claimed: no space',
    });
    await suite.sql('drop trigger refuse on workflow_steps');
    await suite.until(run, 'finished');
    expect(await healthOf(app)).toMatchObject({ status: 'up', dispatcher: 'alive' });
    runtime['leases']!.renewedAt! -= 8_001;
    expect(await healthOf(app)).toMatchObject({
      status: 'down',
      problem: 'leases are not renewed: what is in progress here will be declared stalled',
    });
  });

  test('MET-20 a pool that has no connection to give is told within five seconds, and does not keep the check for ever', async () => {
    const app = await suite.boot([Scripted], { worker: false, poolSize: 1 });
    const runner = app.dataSource.createQueryRunner();
    await runner.connect();
    const { setTimeout: real } = globalThis;
    jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation(
        Object.assign((callback: () => void, delay?: number) => real(callback, delay === 5_000 ? 50 : delay), real),
      );
    expect(await healthOf(app)).toMatchObject({
      status: 'down',
      problem: expect.stringContaining('the pool has no connection to give'),
    });
    // On a busy machine the answer takes longer than those five seconds of ours.
    jest.restoreAllMocks();
    await runner.release();
    expect(await healthOf(app)).toMatchObject({ status: 'up' });
  });

  test.each([
    ['the first', FORBIDDEN.slice(0, 9)],
    ['the others', FORBIDDEN.slice(9)],
  ])('SWEEP-18 every forbidden pair of statuses is named: %s', async (_, pairs) => {
    const app = await suite.boot([Scripted], { worker: false });
    // Legal ones are not.
    const fine = await app.workflows.start(Scripted, script({}));
    const ids = await edited(app, pairs);
    const { status, inconsistentRuns } = await healthOf(app);
    await remove(ids);
    await fine.cancel();
    expect(inconsistentRuns).toHaveLength(pairs.length);
    for (const [at, [run, row]] of pairs.entries()) {
      expect(inconsistentRuns).toContainEqual({ id: ids[at], status: run, stepStatus: row === 'none' ? null : row });
    }
    // Restarting this process would not help.
    expect(status).toBe('up');
  });

  test('SWEEP-18 no run of a legal pair is named', async () => {
    const { workflows, ...app } = await suite.boot([Scripted]);
    const runs = [
      await workflows.start(Scripted, script({})),
      await workflows.start(Scripted, script({ two: (ctx) => ctx.pause() })),
      await workflows.start(Scripted, script({ two: (ctx) => ctx.cancel() })),
      await workflows.start(Scripted, script({ two: (ctx) => ctx.reattempt({ wait: '1h' }) })),
    ];
    await until(runs[0], 'finished');
    await until(runs[1], 'paused');
    await until(runs[2], 'cancelled');
    await eventually(async () => (await runs[3].steps()).length === 3, 'it is to be tried again');
    const [scheduled, waits] = [
      await workflows.start(Scripted, script({ one: (ctx) => ctx.reattempt({ wait: '1h' }) })),
      runs[3],
    ];
    await eventually(async () => (await scheduled.steps()).length === 2, 'it is to be tried again');
    await (await scheduled.reload()).pause();
    expect((await healthOf(app)).inconsistentRuns).toEqual([]);
    for (const run of [scheduled, waits]) await (await run.reload()).cancel();
  });

  test('SWEEP-18 nothing spins on them: over forty polls and two sweeps there are a few statements a poll, and no row changes', async () => {
    captureLog();
    const starter = await suite.boot([Scripted], { worker: false });
    const ids = await edited(starter, FORBIDDEN);
    const before = await allRows(sql);
    const counts: Record<string, number> = {};
    const texts = jest.spyOn(StatementTexts.prototype, 'of').mockImplementation(function (
      this: StatementTexts,
      statement,
    ) {
      counts[statement.name] = (counts[statement.name] ?? 0) + 1;
      return statement.text(this.tables);
    });
    const app = await suite.boot([Scripted], { worker: { lease: '1s', pollInterval: 50 }, stallThreshold: '1h' });
    await sweep(app);
    // Long enough for leases to be judged, too.
    await eventually(() => (counts.wf_lanes ?? 0) >= 40, 'it has polled forty times');
    await sweep(app);
    const polls = counts.wf_lanes;
    await app.close();
    texts.mockRestore();
    const after = await allRows(sql);
    await remove(ids);
    expect(after).toEqual(before);
    expect(counts.wf_claim).toBeLessThanOrEqual(2 * polls + 10);
    // A wait whose deadline has passed is looked at twice a poll at most (by the poll and by its own timer), what has lost its worker less and less often, and
    // each sweep looks at a row once.
    const deadlines = FORBIDDEN.filter(([, row]) => row === 'waiting').length;
    const others = Object.entries(counts).filter(([name]) => name !== 'wf_claim' && name !== 'wf_lanes');
    const allowed = 2 * deadlines * polls + 10 * ids.length;
    for (const [name, count] of others) expect([name, Math.max(count, allowed)]).toEqual([name, allowed]);
    expect(app.reported).toEqual([]);
  });

  test('SWEEP-18 SWEEP-01 more of them than a judge looks at at once do not keep it from a row that has lost its worker', async () => {
    captureLog();
    const starter = await suite.boot([Scripted], { worker: false });
    const ids = await edited(
      starter,
      Array.from({ length: 230 }, () => ['cancelled', 'in_progress'] as const),
    );
    // First in the index by which a judge looks.
    await sql(
      `update workflow_steps set worker_id = '00000000-0000-0000-0000-000000000001' where status = 'in_progress'`,
    );
    const lost = await starter.workflows.start(Scripted, script({}));
    await leaveInProgress(sql, lost);
    await suite.boot([Scripted], { worker: { lease: '1s', ...CLAIMS_NOTHING } });
    const found = await until(lost, 'paused').catch((error: Error) => error.message);
    await remove(ids);
    expect(found).toBe('paused');
  });

  describe('its ready-made endpoint', () => {
    let app: INestApplication | undefined;

    afterEach(() => app?.close());

    async function serve(healthPath: string): Promise<string> {
      const module = await Test.createTestingModule({
        imports: [
          TypeOrmModule.forRoot({
            type: 'postgres',
            url: suite.database.url,
            autoLoadEntities: true,
            retryAttempts: 0,
          }),
          WorkflowModule.forRoot({ healthPath, worker: { pollInterval: 50 } }),
        ],
        providers: [Scripted],
      })
        .setLogger(new Quiet())
        .compile();
      app = module.createNestApplication();
      await app.listen(0, '127.0.0.1');
      return app.getUrl();
    }

    test('MET-20 AMB-63 healthPath answers 200 while all is up, and 503 without the database', async () => {
      const url = await serve('workflows/health');
      const up = await fetch(`${url}/workflows/health`);
      expect(up.status).toBe(200);
      expect(await up.json()).toMatchObject({ status: 'ok', details: { workflows: { status: 'up', database: 'up' } } });
      await app!.get(DataSource).destroy();
      const down = await fetch(`${url}/workflows/health`);
      expect(down.status).toBe(503);
      expect(await down.json()).toMatchObject({ error: { workflows: { status: 'down', database: 'down' } } });
    });
  });
});
