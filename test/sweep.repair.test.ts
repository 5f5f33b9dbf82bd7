import type { Type } from '@nestjs/common';
import {
  FanOut,
  FanOutFailedError,
  RemovedStep,
  Step,
  StepNotDefinedError,
  Workflow,
  WorkflowJob,
  WorkflowHealthIndicator,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type FanOutOptions,
  type JobHandler,
  type StepContext,
  type WorkerOptions,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import type { Announcement, Wakeup } from '../libs/workflow/src/store/wakeup';
import { WAKEUP, WorkflowRuntime } from '../libs/workflow/src/workflow.runtime';
import { attempts } from './support/attempts';
import { fanning, fanScript, fanTrail, Task } from './support/fan';
import { script, Scripted } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, sweep } from './support/sweep';
import { waiting } from './support/waits';

/** A worker that looks once, when it boots: whatever it finds after that, it was told of. */
const LOOKS_ONCE: WorkerOptions = { pollInterval: '1h' };

@Workflow()
class Stranger extends WorkflowOf {
  @Step()
  async only() {}
}

@WorkflowJob()
class Nothing implements JobHandler {
  async perform() {}
}

@Workflow({ name: 'Changed' })
class Before extends WorkflowOf {
  @Step({ waitFor: 'buried' })
  async buried(_ctx: Ctx<this>) {}

  @Step({ waitFor: 'dropped' })
  async dropped(_ctx: Ctx<this>) {}

  @Step({ waitFor: 'plain', waitTimeout: '1h' })
  async plain(_ctx: Ctx<this>) {}

  @Step({ waitFor: 'kept' })
  async kept(_ctx: Ctx<this>) {}

  @FanOut()
  async fan(_ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(Nothing, {}, { queue: 'later' });
  }

  @Step()
  async last() {}
}

@Workflow()
class Stray extends WorkflowOf {
  @Step({ waitFor: 'gone' })
  async gone() {}
}

@Workflow({ name: 'LastBuried' })
class LastBefore extends WorkflowOf {
  @Step({ waitFor: 'go' })
  async only() {}
}

@Workflow({ name: 'LastBuried' })
class LastAfter extends WorkflowOf {
  @Step()
  async first() {}

  @RemovedStep() only?: never;
}

const ran: string[] = [];

@Workflow({ name: 'Changed', onException: { action: 'cancel' } })
class After extends WorkflowOf {
  @RemovedStep() buried?: never;

  @Step()
  async plain(ctx: Ctx<this>) {
    ran.push(ctx.stepName);
  }

  @Step({ waitFor: 'kept' })
  async kept(_ctx: Ctx<this>) {}

  @Step()
  async fan(_ctx: Ctx<this>) {}

  @Step()
  async last() {}
}

describe('what the sweep repairs', () => {
  const suite = workflowSuite();
  const { sql, until, trail, eventually } = suite;

  const healthOf = async ({ app }: TestApp) => (await app.get(WorkflowHealthIndicator).isHealthy()).workflows;

  /** Waits until the first look is over. */
  const untilLooked = ({ app }: TestApp) => {
    const dispatcher = app.get(WorkflowRuntime)['dispatcher']!;
    // The look that follows the first poll too: the listener's connection has it look before that.
    const isAtIt = () => dispatcher['polling'] || dispatcher['claiming'];
    return eventually(() => dispatcher.lookedAt !== null && !isAtIt(), 'it has looked');
  };

  /** What the application's processes are told from now on. */
  function announcements({ app }: TestApp): Announcement[] {
    const heard: Announcement[] = [];
    app.get<Wakeup>(WAKEUP).listen((announcement, from) => from === 'here' && heard.push(announcement));
    return heard;
  }

  /** The run's scheduled step becomes due so long ago, and nobody is told. */
  const dueAgo = (run: WorkflowHandle, ago: string) =>
    sql(
      `update workflow_steps set available_at = statement_timestamp() - $2::interval, scheduled_at = statement_timestamp() - $2::interval
       where workflow_id = $1 and status = 'scheduled'`,
      [run.id, ago],
    );

  test('SWEEP-10 a due row of which nobody was told is claimed at the next poll, once', async () => {
    const starter = await suite.boot([Scripted], { worker: false });
    const run = await starter.workflows.start(Scripted, script({}));
    await sql(`update workflow_steps set available_at = 'infinity' where workflow_id = $1`, [run.id]);
    await suite.boot([Scripted], { worker: { pollInterval: 50 } });
    await suite.boot([Scripted], { worker: { pollInterval: 50 } });
    await dueAgo(run, '0 seconds');
    await until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
    expect((await trail(run)).filter((name) => name === 'step_started')).toHaveLength(3);
  });

  test('SWEEP-10 AMB-28 a row due for over stallThreshold is announced again by the sweep, with no new attempt and no double run', async () => {
    const starter = await suite.boot([Scripted], { worker: false });
    const { id } = await starter.workflows.start(Scripted, script({}));
    await sql(`update workflow_steps set available_at = 'infinity' where workflow_id = $1`, [id]);
    // What it tells of the start is told by then: the worker is not to hear of it.
    await starter.close();
    const sweeper = await suite.boot([Scripted], { worker: CLAIMS_NOTHING, stallThreshold: '1h' });
    const run = await sweeper.workflows.find(id);
    const worker = await suite.boot([Scripted], { worker: LOOKS_ONCE });
    await untilLooked(worker);
    const heard = announcements(sweeper);

    await dueAgo(run, '59 minutes');
    await sweep(sweeper);
    expect(heard).toEqual([]);
    await dueAgo(run, '61 minutes');
    // Announced to all processes: the one that sweeps serves another queue.
    await sweep(sweeper);
    expect(heard).toEqual([{ kind: 'due', queue: 'default', priority: 0, dueIn: 0 }]);
    await until(run, 'finished');
    expect(await attempts(run)).toEqual(['one#1 completed', 'two#1 completed', 'three#1 completed']);
    expect(await trail(run)).not.toContain('stall_detected');
  });

  test('REN-02 AMB-22 a due row of a class that nobody has loaded is left alone, shows as overdue, and is announced again', async () => {
    const starter = await suite.boot([Stranger], { worker: false });
    const run = await starter.workflows.start(Stranger);
    const worker = await suite.boot([Scripted], { stallThreshold: '1h' });
    expect((await healthOf(worker)).oldestDueStepSeconds).toBeLessThan(3_600);
    await dueAgo(run, '2 hours');
    const heard = announcements(worker);
    await sweep(worker);
    await until(await worker.workflows.start(Scripted, script({})), 'finished');
    expect(await healthOf(worker)).toMatchObject({ status: 'up', oldestDueStepSeconds: expect.any(Number) });
    expect((await healthOf(worker)).oldestDueStepSeconds).toBeGreaterThanOrEqual(7_200);
    expect(heard.filter(({ kind }) => kind === 'due')).toContainEqual({
      kind: 'due',
      queue: 'default',
      priority: 0,
      dueIn: 0,
    });
    expect(await attempts(run)).toEqual(['only#1 scheduled']);
    expect(await trail(run)).toEqual(['started', 'step_scheduled']);
    // One that has it takes it.
    await suite.boot([Stranger]);
    await until(run, 'finished');
    expect((await healthOf(worker)).oldestDueStepSeconds).toBe(0);
  });

  test('SWEEP-11 a waiting row is never stalled, however old; its passed deadline gets its onTimeout', async () => {
    const [Patient, Passed] = [waiting({ timeout: '1s' }), waiting({ waitTimeout: '1h', onTimeout: 'skip' })];
    const app = await suite.boot([Patient, Passed], { stallThreshold: '1s' });
    const [old, passed] = [await app.workflows.start(Patient), await app.workflows.start(Passed)];
    for (const run of [old, passed]) await until(run, 'waiting');
    await sql(
      `update workflow_steps set started_at = statement_timestamp() - interval '10 days', waiting_since = statement_timestamp() - interval '10 days',
         timeout_at = timeout_at - interval '2 hours' where workflow_id = any($1::uuid[])`,
      [[old.id, passed.id]],
    );
    await sweep(app);
    await until(passed, 'finished');
    await sweep(app);
    expect(await trail(old)).toEqual(['started', 'step_scheduled', 'step_waiting']);
    expect(await trail(passed)).toContain('wait_timed_out');
    for (const run of [old, passed]) expect(await trail(run)).not.toContain('stall_detected');
    await old.signal('go');
    await until(old, 'finished');
  });

  describe('batches', () => {
    const fans = (options?: FanOutOptions) => fanning(`SweptFans ${options?.onBatchFailure ?? 'plain'}`, options);
    const [Plain, Cancels, Skips] = [fans(), fans({ onBatchFailure: 'cancel' }), fans({ onBatchFailure: 'skip' })];

    /** A run whose two members ended so long ago, which nobody noticed. */
    async function unnoticed({ workflows }: TestApp, workflow: typeof Plain, ago: string, dead = 0) {
      const fan = (ctx: StepContext, batch: FanOutBatch) => {
        for (let n = 0; n < 2; n += 1) batch.add(Task, { script: ctx.args.script, n }, { queue: 'later' });
      };
      const run = await workflows.start(workflow, fanScript({ fan }));
      await until(run, 'waiting');
      await sql(
        `update workflow_steps set status = case when member_index < $2::int then 'failed' else 'completed' end,
           started_at = statement_timestamp() - interval '1 day', finished_at = statement_timestamp() - $3::interval
         where workflow_id = $1 and parent_step_id is not null`,
        [run.id, dead, ago],
      );
      return run;
    }

    test('SWEEP-12 AMB-31 a batch that ended over stallThreshold ago is resolved as the callback would have; a younger one is left to it', async () => {
      const app = await suite.boot([Plain, Cancels, Skips, Task], {
        worker: { queues: ['default'], lease: '1h' },
        stallThreshold: '1h',
      });
      const completed = await unnoticed(app, Plain, '61 minutes');
      const failed = await unnoticed(app, Plain, '61 minutes', 1);
      const cancelled = await unnoticed(app, Cancels, '61 minutes', 2);
      const skipped = await unnoticed(app, Skips, '61 minutes', 1);
      const paused = await unnoticed(app, Plain, '61 minutes');
      await (await paused.reload()).pause();
      const younger = await unnoticed(app, Plain, '59 minutes');

      await sweep(app);
      expect(await fanTrail(completed)).toEqual(
        expect.arrayContaining(['fan_out_finished {"failed_jobs":0,"total_jobs":2}', 'step_completed']),
      );
      await until(completed, 'finished');
      await until(skipped, 'finished');
      expect((await failed.reload()).status).toBe('paused');
      expect(await attempts(failed)).toEqual(['fan#1 failed, paused: FanOutFailedError']);
      expect((await cancelled.reload()).status).toBe('cancelled');
      expect((await attempts(skipped))[0]).toBe('fan#1 skipped: FanOutFailedError');
      // Held, as when the callback finds the run paused.
      expect(await attempts(paused)).toEqual(['fan#1 completed', 'after#1 scheduled']);
      expect((await paused.reload()).status).toBe('paused');
      expect((await younger.reload()).status).toBe('waiting');
      expect(app.reported.every(({ error }) => error instanceof FanOutFailedError)).toBe(true);
      expect(new Set(app.reported.map(({ context }) => context.workflowId))).toEqual(
        new Set([failed, cancelled, skipped].map(({ id }) => id)),
      );

      await sweep(app);
      expect((await younger.reload()).status).toBe('waiting');
      for (const run of [completed, failed, skipped]) {
        expect((await trail(run)).filter((name) => name === 'fan_out_finished')).toHaveLength(1);
      }
      expect(app.reported).toHaveLength(3);
      for (const run of [paused, younger]) await (await run.reload()).cancel();
    });

    test('SWEEP-13 FAN-11 a batch whose record is gone pauses its run, whatever onBatchFailure says', async () => {
      const app = await suite.boot([Plain, Cancels, Skips, Task], {
        worker: { queues: ['default'] },
        stallThreshold: '1h',
      });
      const all = [
        await unnoticed(app, Skips, '1 second'),
        await unnoticed(app, Cancels, '1 second'),
        await unnoticed(app, Skips, '1 second'),
      ];
      const [one, other, whole] = all;
      await sql(`delete from workflow_steps where workflow_id = any($1::uuid[]) and member_index = 0`, [
        [one.id, other.id],
      ]);
      await sql(`delete from workflow_steps where workflow_id = $1 and parent_step_id is not null`, [whole.id]);
      await sweep(app);
      for (const run of all) {
        expect((await run.reload()).status).toBe('paused');
        const [{ error }] = await run.steps();
        expect(error).toMatchObject({
          class: 'FanOutFailedError',
          message: expect.stringMatching(/has [01] of its 2 jobs left/),
        });
      }
      expect(app.reported).toHaveLength(3);
      await one.resumeAt('after');
      await until(one, 'finished');
      for (const run of [other, whole]) await run.cancel();
    });

    test('SWEEP-12 a batch with a member open is no business of the sweep, however old', async () => {
      const app = await suite.boot([Plain, Task], { worker: { queues: ['default'] }, stallThreshold: '1h' });
      const run = await unnoticed(app, Plain, '2 days');
      await sql(
        `update workflow_steps set status = 'scheduled', finished_at = null, started_at = null where workflow_id = $1 and member_index = 1`,
        [run.id],
      );
      await sweep(app);
      expect((await run.reload()).status).toBe('waiting');
      await suite.boot([Plain, Task], { worker: { queues: ['later'] } });
      await until(run, 'finished');
    });
  });

  test('AMB-21 AMB-57 REN-01 REN-03 runs that wait where their class does not any more are resolved, all in one sweep', async () => {
    ran.splice(0);
    const old = await suite.boot([Before, Nothing, Stray], { worker: false });
    const flows = createWorkflowTester(old.app);
    const waitAt = async (step: string, workflow: Type = Before) => {
      const run = await old.workflows.start(workflow as typeof Before);
      await sql('update workflow_steps set step_name = $2 where workflow_id = $1', [run.id, step]);
      await sql('update workflows set current_step = $2 where id = $1', [run.id, step]);
      return flows.performNextStep(run);
    };
    const [buried, dropped, plain, kept, fan] = [
      await waitAt('buried'),
      await waitAt('dropped'),
      await waitAt('plain'),
      await waitAt('kept'),
      await waitAt('fan'),
    ];
    const pausedOnes = [await waitAt('buried'), await waitAt('dropped')];
    for (const run of pausedOnes) await run.pause({ actor: 'olga' });
    const stray = await waitAt('gone', Stray);
    // Sent in vain: the class as it is now asks for no such thing.
    const { workflows, app, reported } = await suite.boot([After, Nothing], { worker: CLAIMS_NOTHING });
    for (const { id } of [buried, dropped]) await (await workflows.find(id)).signal('in vain');

    await sweep({ app });
    const shown = async (run: WorkflowHandle) => [(await run.reload()).status, ...(await attempts(run))];
    expect(await shown(buried)).toEqual(['ready', 'buried#1 skipped', 'plain#1 scheduled']);
    expect(await trail(buried)).toEqual([
      'started',
      'step_scheduled',
      'step_waiting',
      'signal_received',
      'step_skipped',
      'step_scheduled',
    ]);
    expect(await shown(dropped)).toEqual(['paused', 'dropped#1 failed, paused: StepNotDefinedError']);
    expect((await trail(dropped)).slice(-2)).toEqual(['step_failed', 'paused']);
    expect(await shown(plain)).toEqual(['paused', 'plain#1 failed, paused: StepNotDefinedError']);
    expect(await shown(kept)).toEqual(['waiting', 'kept#1 waiting']);
    expect(await shown(fan)).toEqual(['waiting', 'fan#1 waiting']);
    expect(await shown(pausedOnes[0])).toEqual(['paused', 'buried#1 waiting']);
    expect(await shown(pausedOnes[1])).toEqual(['paused', 'dropped#1 waiting']);
    expect(await shown(stray)).toEqual(['waiting', 'gone#1 waiting']);
    for (const run of [buried, dropped]) {
      expect(await sql('select status from workflow_signals where workflow_id = $1', [run.id])).toEqual([
        { status: 'pending' },
      ]);
    }
    // Policies were not asked; the reporter was told, once each.
    expect(
      reported.map(({ error, context }) => [error instanceof StepNotDefinedError, context.workflowId, context.outcome]),
    ).toEqual([dropped, plain].toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ id }) => [true, id, 'paused']));
    await sweep({ app });
    expect(reported).toHaveLength(2);

    // Once a person has resumed them, the next sweep finds them.
    for (const { id } of pausedOnes) await (await workflows.find(id)).resume();
    await sweep({ app });
    expect(await shown(pausedOnes[0])).toEqual(['ready', 'buried#1 skipped', 'plain#1 scheduled']);
    expect(await shown(pausedOnes[1])).toEqual(['paused', 'dropped#1 failed, paused: StepNotDefinedError']);

    const worker = await suite.boot([After, Nothing]);
    const now = ({ id }: WorkflowHandle) => worker.workflows.find(id);
    await (await now(plain)).resume();
    for (const run of [dropped, pausedOnes[1]]) await (await now(run)).resumeAt('last');
    for (const run of [dropped, pausedOnes[1]]) await until(run, 'finished');
    // The batch was joined when it ended, though its step is a plain one by now.
    await until(fan, 'finished');
    expect((await attempts(fan))[0]).toBe('fan#1 completed');
    for (const run of [buried, plain, pausedOnes[0]]) {
      await until(run, 'waiting');
      expect((await attempts(run)).slice(-2)).toEqual([
        expect.stringMatching(/^plain#\d completed$/),
        'kept#1 waiting',
      ]);
    }
    expect(ran).toHaveLength(3);
    for (const run of [buried, plain, kept, pausedOnes[0], stray]) await (await now(run)).cancel();
  });

  test('AMB-21 a gravestone in last place ends a run that waits on it', async () => {
    const old = await suite.boot([LastBefore], { worker: false });
    const run = await createWorkflowTester(old.app).performNextStep(await old.workflows.start(LastBefore));
    const { app } = await suite.boot([LastAfter], { worker: CLAIMS_NOTHING });
    await sweep({ app });
    expect((await run.reload()).status).toBe('finished');
    expect(await attempts(run)).toEqual(['only#1 skipped']);
  });
});
