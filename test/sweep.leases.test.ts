import {
  FanOut,
  Step,
  StepStalledError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type StepContext,
  type WorkerOptions,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { atWork, fanning, fanScript, membersOf, Task } from './support/fan';
import { holdRuns } from './support/locks';
import { leaveInProgress, stalledRuns } from './support/lost-worker';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { CLAIMS_NOTHING, leaveMembersInProgress, stallTrail } from './support/sweep';

const LEASE = '1s';
/** Judges at that pace, and executes nothing. */
const JUDGE: WorkerOptions = { lease: LEASE, ...CLAIMS_NOTHING };

const ran: string[] = [];
const note = ({ workflowId, stepName, attempt }: StepContext) => void ran.push(`${workflowId} ${stepName} ${attempt}`);

/** Three classes, so that three workers with a `stallAction` each can judge at once. */
function kinds(name: string) {
  @Workflow({ name })
  class Kinds extends WorkflowOf {
    @Step({ skipIf: () => false })
    async guarded(ctx: Ctx<this>) {
      note(ctx);
    }

    @Step({ transactional: true })
    async transactional(ctx: Ctx<this>) {
      note(ctx);
    }

    @Step({ waitFor: 'go' })
    async gate(ctx: Ctx<this>) {
      note(ctx);
    }

    @FanOut()
    async fan(ctx: Ctx<this>, _batch: FanOutBatch) {
      note(ctx);
    }

    @Step()
    async plain(ctx: Ctx<this>) {
      note(ctx);
    }
  }
  return Kinds;
}
const STEPS = ['guarded', 'transactional', 'gate', 'fan', 'plain'];
const [Pausing, Reattempting, Cancelling] = [kinds('Pausing'), kinds('Reattempting'), kinds('Cancelling')];

/** Only the judge under test has it. */
@Workflow()
class LeftBehind extends WorkflowOf {
  @Step()
  async only() {}
}

const Fans = fanning('LostFans');

describe('leases', () => {
  const suite = workflowSuite();
  const { sql, until, trail, eventually } = suite;

  /** A run that a lost worker has left on that step. */
  async function lostOn(step: string, { workflows }: Awaited<ReturnType<typeof suite.boot>>, workflow = Pausing) {
    const run = await workflows.start(workflow);
    await sql('update workflow_steps set step_name = $2 where workflow_id = $1', [run.id, step]);
    await sql('update workflows set current_step = $2 where id = $1', [run.id, step]);
    await leaveInProgress(sql, run);
    return run;
  }

  /** Those of these runs of which a step was declared stalled. */
  const stalled = async (...runs: readonly WorkflowHandle[]) => {
    const all = await stalledRuns(sql);
    return runs.filter(({ id }) => all.includes(id));
  };
  const untilStalled = (...runs: readonly WorkflowHandle[]) =>
    eventually(async () => (await stalled(...runs)).length === runs.length, `${runs.length} runs are stalled`);

  test('SWEEP-01 SWEEP-04 SWEEP-05 SWEEP-06 IDEM-09 what a killed worker had in progress gets stallAction, and is not silently executed again', async () => {
    ran.splice(0);
    const starter = await suite.boot([Pausing, Reattempting, Cancelling], { worker: false });
    const lost: Record<string, WorkflowHandle[]> = {};
    for (const workflow of [Pausing, Reattempting, Cancelling]) {
      const of: WorkflowHandle[] = [];
      for (const step of STEPS) of.push(await lostOn(step, starter, workflow));
      lost[of[0].workflowName] = of;
    }
    const paused = await lostOn('plain', starter);
    await (await paused.reload()).pause({ actor: 'olga' });

    await suite.boot([Pausing], { worker: JUDGE });
    await suite.boot([Reattempting], { worker: JUDGE, stallAction: 'reattempt' });
    await suite.boot([Cancelling], { worker: JUDGE, stallAction: 'cancel' });
    await untilStalled(...Object.values(lost).flat(), paused);

    for (const [at, step] of STEPS.entries()) {
      expect((await lost.Pausing[at].reload()).status).toBe('paused');
      expect(await attempts(lost.Pausing[at])).toEqual([`${step}#1 failed, paused: StepStalledError`]);
      expect((await lost.Reattempting[at].reload()).status).toBe('ready');
      expect(await attempts(lost.Reattempting[at])).toEqual([
        `${step}#1 failed, reattempted: StepStalledError`,
        `${step}#2 scheduled`,
      ]);
      expect((await lost.Cancelling[at].reload()).status).toBe('cancelled');
      expect(await attempts(lost.Cancelling[at])).toEqual([`${step}#1 failed, cancelled: StepStalledError`]);
    }
    expect(await stallTrail(sql, paused)).toEqual(['stall_detected lease by system', 'step_failed by system']);
    expect(await stallTrail(sql, lost.Pausing[0])).toEqual([
      'stall_detected lease by system',
      'step_failed by system',
      'paused by system',
    ]);
    const [{ error }] = await paused.steps();
    expect(error!.message).toMatch(/on lost:1: its worker was lost .* find out, then resume/);
    expect(ran).toEqual([]);

    // What stallAction says is executed, and nothing else.
    await suite.boot([Pausing, Reattempting, Cancelling]);
    const plain = lost.Reattempting.at(-1)!;
    await until(plain, 'finished');
    const again = lost.Reattempting.flatMap(({ id }, at) => (STEPS[at] === 'gate' ? [] : [`${id} ${STEPS[at]} 2`]));
    await eventually(() => again.every((line) => ran.includes(line)), 'the second attempts have run');
    const others = [...lost.Pausing, ...lost.Cancelling, paused];
    expect(ran.filter((line) => others.some(({ id }) => line.startsWith(id)))).toEqual([]);
    expect(ran.filter((line) => lost.Reattempting.some(({ id }, at) => line === `${id} ${STEPS[at]} 1`))).toEqual([]);
  });

  test('SWEEP-02 AMB-22 a live worker keeps its rows for longer than a lease, and one whose class is not loaded is left to others', async () => {
    const holder = await suite.boot([Scripted, Fans, Task], { worker: { lease: LEASE } });
    const one = held();
    const run = await holder.workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    const members = await atWork(holder, Fans, 2);
    const starter = await suite.boot([LeftBehind, Pausing], { worker: false });
    const found = await starter.workflows.start(LeftBehind);
    await leaveInProgress(sql, found);
    const stranger = await lostOn('plain', starter);

    const judge = await suite.boot([Scripted, Fans, Task, LeftBehind], { worker: JUDGE });
    const leaseOf = async () =>
      (
        await sql(
          `select extract(epoch from lease_expires_at)::float8 as at from workflow_steps where workflow_id = $1`,
          [run.id],
        )
      )[0].at;
    const first = await leaseOf();
    await untilStalled(found);
    await eventually(async () => (await leaseOf()) - first > 2, 'its leases were renewed for two leases');

    expect(await stalled(found, run, members.run, stranger)).toEqual([found]);
    expect((await stranger.reload()).status).toBe('performing');
    expect(await membersOf(sql, members.run)).toEqual(['fan 1 [0] in_progress', 'fan 1 [1] in_progress']);
    one.release();
    members.release(0, 1);
    for (const ended of [run, members.run]) await until(ended, 'finished');
    expect(await trail(run)).not.toContain('late_completion_ignored');
    expect([...holder.reported, ...judge.reported]).toEqual([
      expect.objectContaining({ context: expect.objectContaining({ workflowId: found.id }) }),
    ]);
    await stranger.cancel();
  });

  test('SWEEP-02 AMB-55 a live row that a lock kept from renewal until its lease lapsed is not stalled when the lock goes', async () => {
    const holder = await suite.boot([Scripted], { worker: { lease: LEASE } });
    const [one, other] = [held(), held()];
    const run = await holder.workflows.start(Scripted, script({ one: one.body }));
    const unlocked = await holder.workflows.start(Scripted, script({ one: other.body }));
    for (const { reached } of [one, other]) await reached;
    const starter = await suite.boot([LeftBehind], { worker: false });
    const [first, second] = [await starter.workflows.start(LeftBehind), await starter.workflows.start(LeftBehind)];
    await leaveInProgress(sql, first);

    // A caller's transaction with a verb in it, which takes its time and is then rolled back.
    const lock = await holdRuns(
      suite,
      [run.id],
      'select from workflow_steps where workflow_id = any($1::uuid[]) for no key update',
    );
    await suite.boot([Scripted, LeftBehind], { worker: JUDGE });
    await untilStalled(first);
    await eventually(async () => {
      const [{ lapsed }] = await sql(
        `select lease_expires_at < statement_timestamp() as lapsed from workflow_steps where workflow_id = $1`,
        [run.id],
      );
      return lapsed;
    }, 'its lease has lapsed');
    // Right after a renewal: the next one comes too late, had it not been kept in mind.
    const leaseOf = async () =>
      String(
        (await sql(`select lease_expires_at::text as at from workflow_steps where workflow_id = $1`, [unlocked.id]))[0]
          .at,
      );
    const renewed = await leaseOf();
    await eventually(async () => (await leaseOf()) !== renewed, 'its other row is renewed');
    await lock.release();
    // The judge goes on looking: it finds the next one that is lost.
    await leaveInProgress(sql, second);
    await untilStalled(second);
    expect(await stalled(run)).toEqual([]);
    for (const { release } of [one, other]) release();
    for (const ended of [run, unlocked]) await until(ended, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
  });

  test('FLOW-18 SWEEP-09 a body and a member whose rows were taken from this worker are asked to stop, and what they come to is ignored', async () => {
    const { workflows } = await suite.boot([Scripted, Fans, Task], { worker: { lease: LEASE } });
    const one = held((ctx) => ctx.output({ late: true }));
    const run = await workflows.start(Scripted, script({ one: one.body }));
    const { abortSignal } = await one.reached;
    const kept = held();
    const other = await workflows.start(Scripted, script({ one: kept.body }));
    const stays = (await kept.reached).abortSignal;
    let memberSignal!: AbortSignal;
    const fan = await workflows.start(
      Fans,
      fanScript({
        size: 1,
        task: (_n, job) => {
          if (job.attempt > 1) return;
          memberSignal = job.abortSignal;
          return new Promise((_, reject) => memberSignal.addEventListener('abort', () => reject(memberSignal.reason)));
        },
      }),
    );
    await eventually(() => memberSignal !== undefined, 'the member is at work');
    const taken = [run.id, fan.id];
    await sql(
      `update workflow_steps set claim_no = claim_no + 1, worker_id = gen_random_uuid(), lease_expires_at = 'infinity'
       where workflow_id = any($1::uuid[]) and status = 'in_progress'`,
      [taken],
    );
    await eventually(() => abortSignal.aborted && memberSignal.aborted, 'both are asked to stop');
    for (const { reason } of [abortSignal, memberSignal]) {
      expect(reason).toBeInstanceOf(StepStalledError);
      expect(reason.message).toMatch(/no longer this worker's/);
    }
    expect(stays.aborted).toBe(false);
    one.release();
    kept.release();
    await eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'its outcome came');
    await until(other, 'finished');
    // As whoever took them left them.
    expect(await attempts(run)).toEqual(['one#1 in_progress']);
    expect(await membersOf(sql, fan)).toEqual(['fan 1 [0] in_progress']);
    await sql(
      `update workflow_steps set lease_expires_at = statement_timestamp() where workflow_id = any($1::uuid[])`,
      [taken],
    );
    await (await run.reload()).cancel();
    await (await fan.reload()).cancel();
  });

  test("FAN-23 a dead worker's members are tried again in place, or dead-lettered once their attempts are spent, and the batch ends", async () => {
    const opener = await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    const tried: string[] = [];
    const run = await opener.workflows.start(
      Fans,
      fanScript({
        fan: (ctx, batch) => {
          for (let n = 0; n < 4; n += 1) batch.add(Task, { script: ctx.args.script, n }, { queue: 'later' });
        },
        task: (n, { attempt }) => void tried.push(`${n} try ${attempt}`),
      }),
    );
    await until(run, 'waiting');
    await leaveMembersInProgress(sql, run, [0, 1]);
    await leaveMembersInProgress(sql, run, [2], 2);
    const judge = await suite.boot([Fans, Task], { worker: { lease: LEASE, queues: ['later'] } });
    await until(run, 'paused');
    expect(await membersOf(sql, run)).toEqual([
      'fan 1 [0] completed',
      'fan 1 [1] completed',
      'fan 1 [2] failed',
      'fan 1 [3] completed',
    ]);
    expect(tried.toSorted()).toEqual(['0 try 2', '1 try 2', '3 try 1']);
    const [{ error_class: error }] = await sql(
      `select error_class from workflow_steps where workflow_id = $1 and member_index = 2`,
      [run.id],
    );
    expect(error).toBe('StepStalledError');
    expect(await attempts(run)).toEqual(['fan#1 failed, paused: FanOutFailedError']);
    expect(await trail(run)).not.toContain('stall_detected');
    expect([...opener.reported, ...judge.reported]).toHaveLength(1);
  });
});
