import type { WorkflowHandle } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { leaveInProgress } from './support/lost-worker';
import { Mark, RemoteWorker } from './support/remote-worker';
import { REMOTE, RemotePatient, RemotePlain, RemoteTimed } from './support/remote-workflows.mjs';
import { script, Scripted } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, startedAgo } from './support/sweep';
import { clockOffBy, WRONG_BY } from './support/wrong-clock';

const HOUR_MS = 3_600_000;

describe.each([
  ['an hour ahead', 1],
  ['an hour behind', -1],
])(`a worker process whose clock is %s (by ${WRONG_BY})`, (_, hours) => {
  const suite = workflowSuite();
  const { sql, until, eventually, trail } = suite;
  let remote: RemoteWorker;

  beforeAll(async () => {
    remote = await RemoteWorker.start({
      url: suite.database.url,
      env: clockOffBy(hours),
      settings: { retention: '10m', stallThreshold: '10m', worker: { lease: '1s' } },
    });
  }, 120_000);
  afterAll(() => remote?.kill());

  /** Milliseconds between two moments of two attempts, by the database's clock. */
  async function between(
    run: WorkflowHandle,
    from: readonly [string, string],
    to: readonly [string, string],
  ): Promise<number> {
    const at = async ([row, column]: readonly [string, string]) => {
      const [{ ms }] = await sql<{ ms: number }>(
        `select (extract(epoch from ${column}) * 1000)::float8 as ms from workflow_steps
         where workflow_id = $1 and step_name || ' ' || attempt = $2`,
        [run.id, row],
      );
      return ms;
    };
    return (await at(to)) - (await at(from));
  }

  test('STA-02 WAIT-01 SWEEP-11 waits, delays and deadlines come as the database’s clock says', async () => {
    expect(Math.abs(remote.ahead - hours * HOUR_MS)).toBeLessThan(60_000);
    const { workflows } = await suite.boot(REMOTE, { worker: false });
    const run = await workflows.start(RemoteTimed);
    const patient = await workflows.start(RemotePatient);
    await eventually(
      async () => (await attempts(run)).at(-1) === 'much later#1 scheduled',
      'it has come to its last step',
    );
    expect(await attempts(run)).toEqual([
      'now#1 completed',
      'soon#1 completed',
      'held back#1 completed',
      'again#1 failed, reattempted',
      'again#2 completed',
      'deadline#1 completed',
      'much later#1 scheduled',
    ]);
    expect(await trail(run)).toContain('wait_timed_out');
    // Exactly: both moments are of one statement's clock, or a fixed time from it.
    for (const [before, after] of [
      ['now 1', 'soon 1'],
      ['soon 1', 'held back 1'],
      ['again 1', 'again 2'],
    ]) {
      expect([after, await between(run, [before, 'finished_at'], [after, 'scheduled_at'])]).toEqual([
        after,
        expect.closeTo(400, 0),
      ]);
      expect(await between(run, [after, 'scheduled_at'], [after, 'started_at'])).toBeGreaterThanOrEqual(0);
    }
    expect(await between(run, ['deadline 1', 'finished_at'], ['much later 1', 'scheduled_at'])).toBeCloseTo(
      HOUR_MS / 2,
      0,
    );
    await until(patient, 'waiting');
    expect(await between(patient, ['wait 1', 'waiting_since'], ['wait 1', 'timeout_at'])).toBeCloseTo(HOUR_MS / 2, 0);

    // What is half an hour away stays so, for a worker that looks all the same.
    await until(await workflows.start(RemotePlain, { args: { does: 'return' } }), 'finished');
    expect((await attempts(run)).at(-1)).toBe('much later#1 scheduled');
    expect(await attempts(patient)).toEqual(['wait#1 waiting']);
    for (const one of [run, patient]) await (await one.reload()).cancel();
  });

  /** Starts a run that is seen only as `leaveInProgress` leaves it: no worker claims it before. */
  async function lostRun({ workflows, dataSource }: TestApp, workflow: typeof RemotePatient): Promise<WorkflowHandle> {
    const { id } = await dataSource.transaction(async (manager) => {
      const run = await workflows.start(workflow, { manager });
      await leaveInProgress((query, parameters) => manager.query(query, parameters), run);
      return run;
    });
    return workflows.find(id);
  }

  const leased = (run: WorkflowHandle, interval: string) =>
    sql(`update workflow_steps set lease_expires_at = statement_timestamp() + $2::interval where workflow_id = $1`, [
      run.id,
      interval,
    ]);

  test('SWEEP-01 SWEEP-02 its leases are renewed and lapse as others’ do, for it and for a judge whose clock is right', async () => {
    // Of the classes here, only the remote worker has RemotePatient, and only the judge has Scripted.
    const judge = await suite.boot([RemotePlain, Scripted], { worker: { lease: '1s', ...CLAIMS_NOTHING } });
    const other = await suite.boot([RemotePatient, Scripted], { worker: false });
    const mark = new Mark();
    const kept = await judge.workflows.start(RemotePlain, { args: { does: 'wait', until: mark.path } });
    await remote.reached(kept);
    const alive = await lostRun(other, RemotePatient);
    await leased(alive, '10 minutes');
    const lost = await lostRun(other, RemotePatient);
    const lostToo = await other.workflows.start(Scripted, script({}));
    await leaveInProgress(sql, lostToo);
    const renewals = new Set<string>();
    await eventually(async () => {
      const [row] = await sql<{ until: Date; left: number }>(
        `select lease_expires_at as until, extract(epoch from lease_expires_at - statement_timestamp())::float8 as left
         from workflow_steps where workflow_id = $1`,
        [kept.id],
      );
      expect(row.left).toBeLessThanOrEqual(1);
      renewals.add(row.until.toISOString());
      return renewals.size > 5;
    }, 'its lease was renewed five times');
    for (const run of [lost, lostToo]) await until(run, 'paused');
    expect(await trail(kept)).not.toContain('stall_detected');
    expect(await trail(alive)).not.toContain('stall_detected');
    mark.set();
    await until(kept, 'finished');
    mark.remove();
    await alive.cancel();
  });

  test('SWEEP-03 SWEEP-14 what it sweeps is as old as the database says', async () => {
    const app = await suite.boot([RemotePatient, RemotePlain], { worker: false });
    const [younger, older] = [await lostRun(app, RemotePatient), await lostRun(app, RemotePatient)];
    for (const run of [younger, older]) await leased(run, '1 hour');
    await startedAgo(sql, younger, '9 minutes');
    await startedAgo(sql, older, '11 minutes');
    const ended: string[] = [];
    for (const ago of ['9 minutes', '11 minutes']) {
      const run = await app.workflows.start(RemotePlain, { args: { does: 'return' } });
      await until(run, 'finished');
      await sql(`update workflows set ended_at = statement_timestamp() - $2::interval where id = $1`, [run.id, ago]);
      ended.push(run.id);
    }
    await remote.sweep();
    expect((await younger.reload()).status).toBe('performing');
    expect((await older.reload()).status).toBe('paused');
    expect(await sql('select id from workflows where id = any($1::uuid[])', [ended])).toEqual([{ id: ended[0] }]);
    await younger.cancel();
  });
});
