import { FanOutFailedError, type FanOutBatch, type StepContext, type WorkflowHandle } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { addTasks, atWork, fanning, fanScript, fanTrail, membersOf, Task, untilEnded } from './support/fan';
import { attemptsOf } from './support/rows';
import { gate, workflowSuite } from './support/suite';

const Pauses = fanning('Pauses');
const Cancels = fanning('Cancels', { onBatchFailure: 'cancel' });
const Skips = fanning('Skips', { onBatchFailure: 'skip' });
/** Every error of theirs is met by another policy than what `onBatchFailure` says. */
const skipAll = { onException: { action: 'skip' } } as const;
const CancelsAll = fanning('CancelsAll', { onBatchFailure: 'skip', onException: { action: 'cancel' } });
const SkipsAll = fanning('SkipsAll', skipAll);
const ReattemptsAll = fanning('ReattemptsAll', { onBatchFailure: 'cancel', onException: { action: 'reattempt' } });
const Last = fanning('Last', {}, true);
const SkipsLast = fanning('SkipsLast', { onBatchFailure: 'skip' }, true);
const Timed = fanning('Timed', { timeout: 40 });

const boom = () => {
  throw new Error('boom');
};

describe('the end of a batch', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const classes = [Pauses, Cancels, Skips, CancelsAll, SkipsAll, ReattemptsAll, Last, SkipsLast, Timed];
  const boot = () => suite.boot([...classes, Task]);

  const untilMembersEnded = (run: WorkflowHandle, ended: number) => untilEnded(suite, run, ended);

  test('FAN-05 FAN-06 the step waits for every member; then it is completed and the next step scheduled at once', async () => {
    const app = await suite.boot([Pauses, Task], { worker: { pollInterval: '1h' } });
    const { run, release } = await atWork(app, Pauses, 3);
    release(0, 2);
    await untilMembersEnded(run, 2);
    expect(await until(run, 'waiting')).toBe('waiting');
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 waiting']);
    release(1);
    await until(run, 'finished');
    expect((await fanTrail(run)).slice(3)).toEqual([
      'fan_out_opened {"size":3}',
      'step_waiting',
      'fan_out_finished {"failed_jobs":0,"total_jobs":3}',
      'step_completed',
      'step_scheduled',
      'step_started',
      'step_completed',
      'finished',
    ]);
    expect(await attempts(run)).toEqual(['fan#1 completed', 'after#1 completed']);
    const [row] = await run.steps();
    const finished = (await run.events()).find(({ name }) => name === 'fan_out_finished')!;
    expect(finished).toMatchObject({ stepId: row.id, actor: 'system' });
  });

  test('FAN-05 a member that is to be tried again keeps the step waiting', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(
      Pauses,
      fanScript({ size: 2, task: (n, job) => void (n === 0 && job.attempt === 1 && boom()) }),
    );
    await until(run, 'finished');
    const [retried] = await sql(
      `select job_attempt, status from workflow_steps where workflow_id = $1 and member_index = 0`,
      [run.id],
    );
    expect(retried).toEqual({ job_attempt: 2, status: 'completed' });
    const late = await workflows.start(Pauses, fanScript({ size: 2, task: (n) => void (n === 0 && boom()) }));
    await until(late, 'paused');
    expect((await trail(late)).filter((name) => name === 'fan_out_finished')).toHaveLength(1);
  });

  test('FAN-06 a fan-out as the last step finishes the run', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Last, fanScript({ size: 4 }));
    await until(run, 'finished');
    expect(await attempts(run)).toEqual(['fan#1 completed']);
    expect((await trail(run)).slice(-3)).toEqual(['fan_out_finished', 'step_completed', 'finished']);
  });

  test('FAN-07 dead-lettered members under the default: row failed, run paused, and the message counts both', async () => {
    const app = await boot();
    const run = await app.workflows.start(Pauses, fanScript({ size: 12, task: (n) => void (n < 3 && boom()) }));
    await until(run, 'paused');
    const [row] = await run.steps();
    expect(row).toMatchObject({
      status: 'failed',
      outcome: 'paused',
      error: { class: 'FanOutFailedError', message: '3 of 12 jobs dead-lettered' },
    });
    expect((await fanTrail(run)).slice(5)).toEqual([
      'fan_out_finished {"failed_jobs":3,"total_jobs":12}',
      'step_failed',
      'paused',
    ]);
    await suite.eventually(() => app.reported.length === 1, 'the error is reported');
    expect(app.reported[0]).toMatchObject({
      error: expect.any(FanOutFailedError),
      context: { workflowClass: 'Pauses', workflowId: run.id, stepName: 'fan', attempt: 1, outcome: 'paused' },
    });
  });

  test('FAN-08 under cancel: the run is cancelled, and the row keeps the error', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Cancels, fanScript({ size: 2, task: boom }));
    await until(run, 'cancelled');
    const [row, ...more] = await run.steps();
    expect(more).toEqual([]);
    expect(row).toMatchObject({
      status: 'failed',
      outcome: 'cancelled',
      error: { message: '2 of 2 jobs dead-lettered' },
    });
    expect((await trail(run)).slice(5)).toEqual(['fan_out_finished', 'step_failed', 'cancelled']);
  });

  test('FAN-09 under skip: the row is skipped with the error, and the next step runs', async () => {
    const { workflows } = await boot();
    const fails = (n: number) => void (n === 1 && boom());
    const run = await workflows.start(Skips, fanScript({ size: 3, task: fails }));
    const last = await workflows.start(SkipsLast, fanScript({ size: 3, task: fails }));
    await until(run, 'finished');
    await until(last, 'finished');
    expect(await attempts(run)).toEqual(['fan#1 skipped: FanOutFailedError', 'after#1 completed']);
    expect((await run.steps())[0].error!.message).toBe('1 of 3 jobs dead-lettered');
    expect((await trail(run)).slice(5, 8)).toEqual(['fan_out_finished', 'step_skipped', 'step_scheduled']);
    expect(await attempts(last)).toEqual(['fan#1 skipped: FanOutFailedError']);
  });

  test('FAN-10 onBatchFailure alone decides: policies that match every error are not asked', async () => {
    const { workflows } = await boot();
    const fails = fanScript({ size: 1, task: boom });
    const paused = await workflows.start(SkipsAll, fails);
    const skipped = await workflows.start(CancelsAll, fails);
    const cancelled = await workflows.start(ReattemptsAll, fails);
    await until(paused, 'paused');
    await until(skipped, 'finished');
    await until(cancelled, 'cancelled');
    expect(await attempts(paused)).toEqual(['fan#1 failed, paused: FanOutFailedError']);
    expect((await attempts(skipped))[0]).toBe('fan#1 skipped: FanOutFailedError');
    expect(await attempts(cancelled)).toEqual(['fan#1 failed, cancelled: FanOutFailedError']);
  });

  test.each([
    ['pause', Pauses],
    ['cancel', Cancels],
    ['skip', Skips],
  ])(
    'FAN-11 members deleted by hand, onBatchFailure %s: row failed, run paused; resume fans out anew',
    async (_action, workflow) => {
      const app = await boot();
      const { run, release } = await atWork(app, workflow, 3);
      await sql('delete from workflow_steps where workflow_id = $1 and member_index = 1', [run.id]);
      release(0, 1, 2);
      await until(run, 'paused');
      const [row] = await run.steps();
      expect(row).toMatchObject({
        status: 'failed',
        outcome: 'paused',
        error: { class: 'FanOutFailedError', message: expect.stringMatching(/has 2 of its 3 jobs left/) },
      });
      expect((await run.reload()).availableActions).not.toContain('skip');
      await run.resume();
      await until(run, 'finished');
      expect(await attempts(run)).toEqual([expect.any(String), 'fan#2 completed', 'after#1 completed']);
      expect((await membersOf(sql, run)).slice(-3)).toEqual([0, 1, 2].map((n) => `fan 2 [${n}] completed`));
    },
  );

  test('FAN-11 a batch of which nothing is left: the run pauses when it is to be joined; resumeAt goes on', async () => {
    const app = await boot();
    const { run, release } = await atWork(app, Skips, 2);
    await sql('delete from workflow_steps where workflow_id = $1 and member_index >= 0', [run.id]);
    await sql(
      `update workflow_steps set available_at = statement_timestamp() where workflow_id = $1 and status = 'waiting'`,
      [run.id],
    );
    await until(run, 'paused');
    expect(await attempts(run)).toEqual(['fan#1 failed, paused: FanOutFailedError']);
    expect((await fanTrail(run)).slice(5)).toEqual([
      'fan_out_finished {"failed_jobs":0,"total_jobs":2}',
      'step_failed',
      'paused',
    ]);
    await run.resumeAt('after');
    await until(run, 'finished');
    release(0, 1);
  });

  test('FAN-16 resume of a failed batch runs the body again: a new batch of all members, under the same keys', async () => {
    const { workflows } = await boot();
    const keys: string[] = [];
    const performed: string[] = [];
    let broken = true;
    const run = await workflows.start(
      Pauses,
      fanScript({
        fan: (ctx, batch) => {
          keys.push(ctx.stepIdempotencyKey);
          addTasks(ctx, batch, 3);
        },
        task: (n, job) => {
          performed.push(`${n}:${job.attempt}`);
          if (n === 0 && broken) boom();
        },
      }),
    );
    await until(run, 'paused');
    broken = false;
    await run.resume();
    await until(run, 'finished');
    expect(keys).toEqual([`wf:${run.id}:fan`, `wf:${run.id}:fan`]);
    expect(performed.toSorted((a, b) => a.localeCompare(b))).toEqual(['0:1', '0:1', '0:2', '1:1', '1:1', '2:1', '2:1']);
    expect(await membersOf(sql, run)).toEqual([
      'fan 1 [0] failed',
      'fan 1 [1] completed',
      'fan 1 [2] completed',
      ...[0, 1, 2].map((n) => `fan 2 [${n}] completed`),
    ]);
    expect(await attempts(run)).toEqual([
      'fan#1 failed, paused: FanOutFailedError',
      'fan#2 completed',
      'after#1 completed',
    ]);
  });

  test('FAN-16 a policy’s reattempt of the body: what the failed body added is forgotten', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(
      ReattemptsAll,
      fanScript({
        fan: (ctx, batch) => {
          addTasks(ctx, batch, 2);
          if (ctx.attempt === 1) boom();
        },
      }),
    );
    await until(run, 'finished');
    expect(await membersOf(sql, run)).toEqual(['fan 2 [0] completed', 'fan 2 [1] completed']);
  });

  test('FAN-17 the end of an earlier attempt’s batch does not resolve a later attempt', async () => {
    const { workflows } = await boot();
    const held = [gate(), gate()];
    const begun = [gate(), gate()];
    let attempt = 0;
    const run = await workflows.start(
      Pauses,
      fanScript({
        fan: (ctx: StepContext, batch) => {
          attempt = ctx.attempt;
          addTasks(ctx, batch, 1);
        },
        task: async () => {
          const mine = attempt - 1;
          begun[mine].open();
          await held[mine].opened;
        },
      }),
    );
    await begun[0].opened;
    await run.pause();
    await run.resumeAt('fan');
    await begun[1].opened;
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 cancelled', 'fan 2 waiting']);
    held[0].open();
    await untilMembersEnded(run, 1);
    // Another batch begins and ends meanwhile: whoever was to look at this run's has done so.
    await until(await workflows.start(Last, fanScript({ size: 2 })), 'finished');
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 cancelled', 'fan 2 waiting']);
    expect(await trail(run)).not.toContain('fan_out_finished');
    held[1].open();
    await until(run, 'finished');
    expect((await trail(run)).filter((name) => name === 'fan_out_finished')).toHaveLength(1);
  });

  test('FAN-18 a batch that two processes find to be over is joined once', async () => {
    const idle = await suite.boot([...classes, Task], { worker: { queues: ['default'], pollInterval: '1h' } });
    const fan = (_ctx: StepContext, batch: FanOutBatch) => batch.add(Task, { script: '', n: 0 }, { queue: 'unserved' });
    const runs = await Promise.all(Array.from({ length: 20 }, () => idle.workflows.start(Last, fanScript({ fan }))));
    for (const run of runs) await until(run, 'waiting');
    const ids = runs.map(({ id }) => id);
    await sql(
      `update workflow_steps set status = 'completed', finished_at = statement_timestamp()
       where workflow_id = any($1::uuid[]) and member_index >= 0`,
      [ids],
    );
    await sql(
      `update workflow_steps set available_at = statement_timestamp()
       where workflow_id = any($1::uuid[]) and status = 'waiting'`,
      [ids],
    );
    await Promise.all([boot(), boot()]);
    for (const run of runs) {
      await until(run, 'finished');
      expect((await trail(run)).slice(5)).toEqual(['fan_out_finished', 'step_completed', 'finished']);
    }
  });

  test('FAN-22 timeout bounds the body only: members may take longer', async () => {
    const { workflows } = await boot();
    const seen: string[] = [];
    const run = await workflows.start(
      Timed,
      fanScript({
        fan: async (ctx, batch) => {
          if (ctx.attempt === 1) {
            await new Promise((resolve) => ctx.abortSignal.addEventListener('abort', resolve));
            seen.push((ctx.abortSignal.reason as Error).name);
            ctx.reattempt();
          }
          addTasks(ctx, batch, 1);
        },
        task: async (_n, job) => {
          // Longer than the step's timeout.
          await new Promise((resolve) => setTimeout(resolve, 60));
          seen.push(`member aborted: ${job.abortSignal.aborted}`);
        },
      }),
    );
    await until(run, 'finished');
    expect(seen).toEqual(['StepTimedOutError', 'member aborted: false']);
    expect(await attempts(run)).toEqual(['fan#1 failed, reattempted', 'fan#2 completed', 'after#1 completed']);
  });
});
