import { attempts } from './support/attempts';
import { leaveInProgress } from './support/lost-worker';
import { Mark, RemoteWorker } from './support/remote-worker';
import { REMOTE, RemoteFan, RemotePlain, RemoteTransactional } from './support/remote-workflows.mjs';
import { Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';
import { CLAIMS_NOTHING, stallTrail } from './support/sweep';

const LEASE = '1s';

describe('a worker process among others', () => {
  const suite = workflowSuite();
  const { sql, until, eventually, trail } = suite;
  let remote: RemoteWorker;

  beforeAll(async () => {
    remote = await RemoteWorker.start({ url: suite.database.url, settings: { worker: { lease: LEASE } } });
  }, 120_000);
  afterAll(() => remote?.kill());

  /** Executes nothing, and judges. */
  const judge = () => suite.boot([...REMOTE, Scripted], { worker: { lease: LEASE, ...CLAIMS_NOTHING } });

  test('SWEEP-02 a body that blocks the event loop for longer than its lease is not taken for dead', async () => {
    const mark = new Mark();
    const { workflows } = await judge();
    const run = await workflows.start(RemotePlain, { args: { does: 'block', until: mark.path } });
    await remote.reached(run);
    const lost = await workflows.start(Scripted, script({}));
    await leaveInProgress(sql, lost);
    const renewals = new Set<number>();
    await eventually(async () => {
      const [{ at }] = await sql(`select lease_expires_at as at from workflow_steps where workflow_id = $1`, [run.id]);
      renewals.add(Number(at));
      return renewals.size > 6;
    }, 'its lease was renewed for two leases');
    await until(lost, 'paused');
    expect(await attempts(run)).toEqual(['act#1 in_progress']);
    mark.set();
    await until(run, 'finished');
    mark.remove();
    expect(await attempts(run)).toEqual(['act#1 completed', 'last#1 completed']);
    expect(await trail(run)).not.toContain('stall_detected');
  });

  test('SWEEP-01 FAN-23 IDEM-09 what a killed process had in progress gets stallAction, long before the sweep; its members are tried again', async () => {
    const { workflows } = await judge();
    const runs = [
      await workflows.start(RemotePlain, { args: { does: 'never' } }),
      await workflows.start(RemoteTransactional, { args: { does: 'hold' } }),
    ];
    const fan = await workflows.start(RemoteFan, { args: { does: 'never' } });
    await remote.reached(...runs, fan);
    expect(await remote.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    for (const run of runs) {
      await until(run, 'paused');
      expect(await attempts(run)).toEqual(['act#1 failed, paused: StepStalledError']);
      expect(await stallTrail(sql, run)).toEqual([
        'stall_detected lease by system',
        'step_failed by system',
        'paused by system',
      ]);
      const [{ error, worker }] = await run.steps();
      expect(worker).toMatch(new RegExp(`:${remote.pid}$`));
      expect(error!.message).toContain(`on ${worker}: its worker was lost`);
    }
    await eventually(async () => {
      const rows = await sql(
        `select from workflow_steps where workflow_id = $1 and member_index = 0 and status = 'scheduled'`,
        [fan.id],
      );
      return rows.length === 1;
    }, 'the member is to be tried again');
    for (const run of [...runs, fan]) await (await run.reload()).cancel();
  });
});
