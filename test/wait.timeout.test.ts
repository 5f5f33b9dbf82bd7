import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { runInThisContext } from 'node:vm';
import {
  CancelIf,
  InvalidTransitionError,
  NotInStepError,
  Step,
  WaitTimedOutError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { newestRow } from './support/rows';
import { workflowSuite } from './support/suite';
import { note, passDeadline, seenBy, timeOuts, waiting } from './support/waits';

const Pauses = waiting({ waitTimeout: '1 hour' });
const Cancels = waiting({ waitTimeout: '1 hour', onTimeout: 'cancel' });
const Skips = waiting({ waitTimeout: '1 hour', onTimeout: 'skip' });
const Runs = waiting({ waitTimeout: '1 hour', onTimeout: 'run' });
const Open = waiting();

@Workflow()
class SkipsLast extends WorkflowOf {
  @Step({ waitFor: 'go', waitTimeout: '1 hour', onTimeout: 'skip' })
  async gate() {}
}

const CHANNEL = 'workflow.wait_timed_out';

describe('time-outs', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  /** What a reader of the tables may ever have seen a run or a row as. */
  beforeAll(() =>
    sql(`
      create table seen (id bigint generated always as identity, workflow_id uuid, what text, was text, became text);
      create function see() returns trigger language plpgsql as $$ begin
        insert into seen (workflow_id, what, was, became) values (
          case when tg_argv[0] = 'run' then (to_jsonb(new)->>'id')::uuid else (to_jsonb(new)->>'workflow_id')::uuid end,
          tg_argv[0], old.status, new.status);
        return null;
      end $$;
      create trigger see after update of status on workflows for each row execute function see('run');
      create trigger see after update of status on workflow_steps for each row execute function see('row')`),
  );
  const changes = async (id: string) =>
    (
      await sql<{ line: string }>(
        `select what || ' ' || was || ' -> ' || became as line from seen where workflow_id = $1 and was <> became order by what desc, id`,
        [id],
      )
    ).map(({ line }) => line);

  const messages: Record<string, unknown>[] = [];
  const listen = (message: unknown) => void messages.push(message as Record<string, unknown>);
  beforeAll(() => subscribe(CHANNEL, listen));
  afterAll(() => void unsubscribe(CHANNEL, listen));
  const messagesOf = ({ id }: { id: string }) => messages.filter(({ workflowId }) => workflowId === id);

  test('WAIT-02 WAIT-03 OPS-31 DATA-09 pause: the attempt failed, the run is paused; events, error, report and message', async () => {
    const { workflows, reported } = await suite.boot([Pauses]);
    const run = await workflows.start(Pauses);
    await until(run, 'waiting');
    await run.signal('something else');
    const at = await passDeadline(sql, run);
    await until(run, 'paused');

    expect(await attempts(run)).toEqual(['gate#1 failed, paused: WaitTimedOutError']);
    const [{ error }] = await run.steps();
    expect(error!.message).toContain(`step "gate": the signal "go" did not come by ${at} (workflow ${run.id})`);
    const events = (await run.events()).slice(-3);
    expect(events.map(({ name, actor, stepName, details }) => [name, actor, stepName, details])).toEqual([
      ['wait_timed_out', 'system', 'gate', { wait_for: 'go', action: 'pause', timeout_at: at }],
      ['step_failed', 'system', 'gate', null],
      ['paused', 'system', 'gate', null],
    ]);
    expect(await run.signals()).toEqual([expect.objectContaining({ name: 'something else', status: 'pending' })]);
    expect(reported).toEqual([
      {
        error: expect.any(WaitTimedOutError),
        context: {
          workflowClass: run.workflowName,
          workflowId: run.id,
          stepName: 'gate',
          attempt: 1,
          outcome: 'paused',
        },
      },
    ]);
    expect(messagesOf(run)).toEqual([
      {
        workflowClass: run.workflowName,
        workflowId: run.id,
        stepName: 'gate',
        attempt: 1,
        waitFor: 'go',
        action: 'pause',
        timeoutAt: new Date(at),
      },
    ]);
    expect(await changes(run.id)).toEqual([
      'run ready -> waiting',
      'run waiting -> paused',
      'row scheduled -> waiting',
      'row waiting -> failed',
    ]);
    expect(seenBy(run)).toEqual([]);
  });

  test('WAIT-04 OPS-31 cancel: row and run are cancelled, and nothing is recorded as an error', async () => {
    const { workflows, reported } = await suite.boot([Cancels]);
    const run = await workflows.start(Cancels);
    await until(run, 'waiting');
    const at = await passDeadline(sql, run);
    await until(run, 'cancelled');
    expect(await attempts(run)).toEqual(['gate#1 cancelled']);
    expect((await trail(run)).slice(2)).toEqual(['step_waiting', 'wait_timed_out', 'cancelled']);
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'cancel', timeout_at: at }]);
    expect((await run.events()).slice(-2).map(({ actor }) => actor)).toEqual(['system', 'system']);
    expect(reported).toEqual([]);
    expect(messagesOf(run)).toEqual([expect.objectContaining({ action: 'cancel' })]);
    expect((await changes(run.id)).slice(1)).toEqual([
      'run waiting -> cancelled',
      'row scheduled -> waiting',
      'row waiting -> cancelled',
    ]);
  });

  test('WAIT-05 OPS-31 skip: the next step, or the end of the run; the row was never claimed', async () => {
    const { workflows, reported } = await suite.boot([Skips, SkipsLast]);
    const run = await workflows.start(Skips);
    const last = await workflows.start(SkipsLast);
    await until(run, 'waiting');
    await until(last, 'waiting');
    const at = await passDeadline(sql, run);
    await passDeadline(sql, last);
    await until(run, 'finished');
    await until(last, 'finished');
    expect(await attempts(run)).toEqual(['gate#1 skipped', 'after#1 completed']);
    expect((await trail(run)).slice(2, 6)).toEqual([
      'step_waiting',
      'wait_timed_out',
      'step_skipped',
      'step_scheduled',
    ]);
    expect((await trail(last)).slice(2)).toEqual(['step_waiting', 'wait_timed_out', 'step_skipped', 'finished']);
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'skip', timeout_at: at }]);
    expect(reported).toEqual([]);
    const rows = await sql(
      `select claim_no, error_class from workflow_steps where step_name = 'gate' and workflow_id = any($1)`,
      [[run.id, last.id]],
    );
    expect(rows).toEqual([
      { claim_no: 0, error_class: null },
      { claim_no: 0, error_class: null },
    ]);
    expect(await changes(last.id)).toEqual([
      'run ready -> waiting',
      'run waiting -> finished',
      'row scheduled -> waiting',
      'row waiting -> skipped',
    ]);
    expect((await changes(run.id))[1]).toBe('run waiting -> ready');
    expect(seenBy(run)).toEqual([]);
  });

  test('WAIT-06 WAIT-10 SIG-23 run: the same attempt runs without a signal, also when one came meanwhile, and guards know', async () => {
    const guards: unknown[] = [];
    const inQueue = { jobOptions: { queue: 'apart' } };
    let kept: StepContext | undefined;

    @Workflow()
    class Late extends WorkflowOf {
      @CancelIf()
      async never(ctx: Ctx<this>) {
        guards.push([ctx.stepName, ctx.timedOut, ctx.woken, await ctx.signalReady(), ctx.receivedSignal]);
      }

      @Step({ waitFor: 'go', waitTimeout: '1 hour', onTimeout: 'run', ...inQueue })
      async gate(ctx: Ctx<this>) {
        kept = ctx;
        await note(ctx);
      }

      @Step({ waitFor: 'go', ...inQueue })
      async taker(ctx: Ctx<this>) {
        await note(ctx);
      }
    }
    const parks = await suite.boot([Late], { worker: { queues: ['apart'] } });
    const run = await parks.workflows.start(Late);
    await until(run, 'waiting');
    await parks.close();
    const before = await newestRow(sql, run);
    const at = await passDeadline(sql, run);

    // It fires the deadline, and does not serve the queue.
    const fires = await suite.boot([Late], { worker: { queues: ['elsewhere'] } });
    await until(run, 'ready');
    expect(await newestRow(sql, run)).toMatchObject({
      id: before.id,
      attempt: 1,
      status: 'scheduled',
      timed_out: true,
      timeout_at: null,
    });
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'run', timeout_at: at }]);
    const late = await fires.workflows.find(run.id);
    expect(await late.signal('go', { late: true })).toMatchObject({ status: 'pending' });
    guards.length = 0;

    await suite.boot([Late], { worker: { queues: ['apart'] } });
    await until(run, 'finished');
    expect(guards).toEqual([
      ['gate', true, false, false, null],
      ['taker', false, false, true, null],
    ]);
    expect(seenBy(run)).toEqual([
      { attempt: 1, received: null, timedOut: true, woken: false, ready: false },
      { attempt: 1, received: { name: 'go', payload: { late: true } }, timedOut: false, woken: false, ready: true },
    ]);
    expect((await trail(run)).slice(2, 8)).toEqual([
      'step_waiting',
      'wait_timed_out',
      'signal_received',
      'step_started',
      'step_completed',
      'step_scheduled',
    ]);
    expect(await attempts(late)).toEqual(['gate#1 completed', 'taker#1 completed']);
    await expect(kept!.signalReady()).rejects.toThrow(NotInStepError);
    expect(() => kept!.woken).toThrow(NotInStepError);
    expect(() => kept!.timedOut).toThrow(NotInStepError);
  });

  test('WAIT-06 SIG-23 timedOut is false in every other case', async () => {
    const plain: unknown[] = [];

    @Workflow()
    class Other extends WorkflowOf {
      @Step({ waitFor: 'go', waitTimeout: '1 hour', onTimeout: 'run' })
      async gate(ctx: Ctx<this>) {
        await note(ctx);
        if (ctx.attempt === 1) ctx.reattempt();
      }

      @Step()
      async plain(ctx: Ctx<this>) {
        plain.push(ctx.timedOut, ctx.woken, await ctx.signalReady(), ctx.receivedSignal);
      }
    }
    const { workflows } = await suite.boot([Other, Runs]);
    const run = await workflows.start(Other);
    await until(run, 'waiting');
    await run.signal('go');
    await until(run, 'finished');
    expect(seenBy(run).map(({ attempt, timedOut }) => [attempt, timedOut])).toEqual([
      [1, false],
      [2, false],
    ]);
    expect(plain).toEqual([false, false, false, null]);
  });

  test('WAIT-06 a pause between the wake and the claim changes nothing: the resumed attempt still has timed out', async () => {
    const queue = { jobOptions: { queue: 'apart' } };
    const Late = waiting({ waitTimeout: '1 hour', onTimeout: 'run', ...queue });
    const parks = await suite.boot([Late], { worker: { queues: ['apart'] } });
    const run = await parks.workflows.start(Late);
    await until(run, 'waiting');
    await parks.close();
    await passDeadline(sql, run);
    const { workflows } = await suite.boot([Late], { worker: { queues: ['elsewhere'] } });
    await until(run, 'ready');
    const handle = await workflows.find(run.id);
    await handle.pause();
    await suite.boot([Late]);
    await handle.resume();
    await until(run, 'finished');
    expect(seenBy(run)).toEqual([expect.objectContaining({ attempt: 1, timedOut: true })]);
  });

  test('WAIT-06 WAIT-01 when the body fails after a time-out, the attempt that follows waits anew', async () => {
    const Fails = waiting({ waitTimeout: '1 hour', onTimeout: 'run' }, ({ timedOut }) => {
      if (timedOut) throw new Error('no signal, no work');
    });
    const { workflows } = await suite.boot([Fails]);
    const run = await workflows.start(Fails);
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await until(run, 'paused');
    await run.resume();
    await until(run, 'waiting');
    expect(await attempts(run)).toEqual(['gate#1 failed, paused: Error', 'gate#2 waiting']);
    expect(await newestRow(sql, run)).toMatchObject({ timed_out: false, timeout_at: expect.any(Date) });
    await run.signal('go');
    await until(run, 'finished');
    expect(seenBy(run).at(-1)).toMatchObject({ attempt: 2, timedOut: false, received: { name: 'go' } });
  });

  test('WAIT-07 a wait older than timeout and stallThreshold goes on; timeout counts from the claim that runs the body', async () => {
    const aborted: boolean[] = [];
    const Short = waiting({ timeout: 200, waitTimeout: '1 day' }, async (ctx) => {
      aborted.push(ctx.abortSignal.aborted);
      await new Promise((resolve) => ctx.abortSignal.addEventListener('abort', resolve));
      aborted.push(ctx.abortSignal.aborted);
    });
    const { workflows } = await suite.boot([Short, Pauses], { stallThreshold: 1_000 });
    const run = await workflows.start(Short);
    await until(run, 'waiting');
    await sql(
      `update workflow_steps set waiting_since = waiting_since - interval '2 hours', created_at = created_at - interval '2 hours',
         scheduled_at = scheduled_at - interval '2 hours' where workflow_id = $1`,
      [run.id],
    );
    // A deadline that fires meanwhile shows that the worker has looked.
    const other = await workflows.start(Pauses);
    await until(other, 'waiting');
    await passDeadline(sql, other);
    await until(other, 'paused');
    expect(await attempts(run)).toEqual(['gate#1 waiting']);
    await run.signal('go');
    await until(run, 'finished');
    expect(aborted).toEqual([false, true]);
    expect(await trail(run)).not.toContain('stall_detected');
  });

  test('WAIT-02 WAIT-08 a deadline ahead and one of a paused run do not fire, while others do', async () => {
    const { workflows } = await suite.boot([Pauses]);
    const [ahead, paused, passed] = await workflows.startMany(Pauses, [{}, {}, {}]);
    for (const run of [ahead, paused, passed]) await until(run, 'waiting');
    await paused.pause();
    await sql(
      `update workflow_steps set stopped_timeout_at = stopped_timeout_at - interval '9 days' where workflow_id = $1`,
      [paused.id],
    );
    await passDeadline(sql, passed);
    await until(passed, 'paused');
    // Another look, after which the first has certainly been over.
    await passed.resume();
    await until(passed, 'waiting');
    await passDeadline(sql, passed);
    await until(passed, 'paused');
    expect((await ahead.reload()).status).toBe('waiting');
    expect(await attempts(paused)).toEqual(['gate#1 waiting']);
    expect(await timeOuts(sql, paused)).toEqual([]);
    expect(await timeOuts(sql, ahead)).toEqual([]);
  });

  test('WAIT-10 a signal after the time-out stays pending: after pause, resume has the next attempt take it', async () => {
    const { workflows } = await suite.boot([Pauses, Skips, Cancels]);
    const run = await workflows.start(Pauses);
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await until(run, 'paused');
    expect(await run.signal('go', { late: true })).toMatchObject({ status: 'pending' });
    expect((await run.reload()).status).toBe('paused');
    await run.resume();
    await until(run, 'finished');
    expect(await attempts(run)).toEqual([
      'gate#1 failed, paused: WaitTimedOutError',
      'gate#2 completed',
      'after#1 completed',
    ]);
    expect(seenBy(run)).toEqual([
      { attempt: 2, received: { name: 'go', payload: { late: true } }, timedOut: false, woken: false, ready: true },
    ]);
    expect((await trail(run)).filter((name) => name === 'step_waiting')).toHaveLength(1);
    expect(await run.signals()).toEqual([expect.objectContaining({ status: 'consumed' })]);
  });

  test('WAIT-27 a wait without a deadline is left by skip, by cancel, or by pause and resumeAt, and by nothing else', async () => {
    const { workflows } = await suite.boot([Open, Pauses]);
    const [skipped, cancelled, moved, left] = await workflows.startMany(Open, [{}, {}, {}, {}]);
    for (const run of [skipped, cancelled, moved, left]) await until(run, 'waiting');
    await sql(`update workflow_steps set waiting_since = waiting_since - interval '1 year' where workflow_id = $1`, [
      left.id,
    ]);

    await skipped.skip();
    await cancelled.cancel();
    await expect(moved.resumeAt('after')).rejects.toThrow(InvalidTransitionError);
    await moved.pause();
    await moved.resumeAt('after');
    await until(skipped, 'finished');
    await until(moved, 'finished');
    expect(await attempts(skipped)).toEqual(['gate#1 skipped', 'after#1 completed']);
    expect(await attempts(cancelled)).toEqual(['gate#1 cancelled']);
    expect(await attempts(moved)).toEqual(['gate#1 cancelled', 'after#1 completed']);

    const other = await workflows.start(Pauses);
    await until(other, 'waiting');
    await passDeadline(sql, other);
    await until(other, 'paused');
    expect(await attempts(left)).toEqual(['gate#1 waiting']);
    expect(await trail(left)).toEqual(['started', 'step_scheduled', 'step_waiting']);
    await left.signal('go');
    await until(left, 'finished');
  });

  test('WAIT-02 MET-18 what a subscriber throws changes nothing, and is no uncaught exception', async () => {
    const thrown = new Error('the subscriber broke');
    let told = 0;
    const subscriber = () => {
      told += 1;
      throw thrown;
    };
    const uncaught = collectUncaught();
    subscribe(CHANNEL, subscriber);
    try {
      const { workflows, reported } = await suite.boot([Pauses]);
      const run = await workflows.start(Pauses);
      await until(run, 'waiting');
      await passDeadline(sql, run);
      await until(run, 'paused');
      await suite.eventually(() => reported.length === 1, 'the time-out is reported');
      expect(messagesOf(run)).toHaveLength(1);
      expect((await trail(run)).slice(3)).toEqual(['wait_timed_out', 'step_failed', 'paused']);
      expect(told).toBe(1);
      expect(uncaught.errors).toEqual([]);
    } finally {
      unsubscribe(CHANNEL, subscriber);
      uncaught.restore();
    }
  });

  test('WAIT-02 nothing is published of a time-out whose commit failed', async () => {
    await sql(`
      create sequence tried;
      create function refuse() returns trigger language plpgsql as $$ begin
        perform nextval('tried');
        raise exception 'refused';
      end $$;
      create constraint trigger refuse after insert on workflow_events deferrable initially deferred
        for each row when (new.name = 'wait_timed_out') execute function refuse()`);
    const { workflows } = await suite.boot([Pauses]);
    const run = await workflows.start(Pauses);
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await suite.eventually(
      async () => (await sql<{ often: boolean }>('select last_value > 2 as often from tried'))[0].often,
      'the worker has tried more than once',
    );
    expect(await attempts(run)).toEqual(['gate#1 waiting']);
    expect(messagesOf(run)).toEqual([]);
    await sql('drop trigger refuse on workflow_events');
    await until(run, 'paused');
    expect(messagesOf(run)).toHaveLength(1);
  });
});

/** Takes the place of who listens for uncaught exceptions: Jest would fail the test. Its own `process` is not the real one. */
function collectUncaught() {
  const real = runInThisContext('process') as NodeJS.Process;
  const listeners = real.listeners('uncaughtException');
  const errors: unknown[] = [];
  real.removeAllListeners('uncaughtException');
  real.on('uncaughtException', (error) => errors.push(error));
  return {
    errors,
    restore() {
      real.removeAllListeners('uncaughtException');
      for (const listener of listeners) real.on('uncaughtException', listener);
    },
  };
}
