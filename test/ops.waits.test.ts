import {
  FanOut,
  FanOutBatch,
  InvalidTransitionError,
  NotOngoingError,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type JobHandler,
  type RunStatus,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { isLegal, RUN_STATUSES } from '../libs/workflow/src/model/states';
import { attempts } from './support/attempts';
import { allRows, newestRow } from './support/rows';
import { held } from './support/scripted';
import { Paid, Signalled, signalScript, signalsOf } from './support/signalled';
import { gate, workflowSuite, type TestApp } from './support/suite';

@WorkflowJob()
class Slow implements JobHandler {
  static released = gate();
  static ran = 0;
  async perform() {
    await Slow.released.opened;
    Slow.ran += 1;
  }
}

@Workflow()
class Batched extends WorkflowOf<null, { alone?: boolean }> {
  static reached = gate();
  static goOn = gate();

  @FanOut()
  async fan(ctx: Ctx<this>, batch: FanOutBatch) {
    Batched.reached.open();
    await Batched.goOn.opened;
    for (let i = 0; i < 2; i += 1) batch.add(Slow, {});
    ctx.output({ added: 2 });
  }

  @Step({ skipIf: (ctx) => ctx.args.alone })
  async last() {}
}

@Workflow()
class LastWaits extends WorkflowOf {
  @Step({ waitFor: Paid })
  async pay() {}
}

@Workflow()
class TimesOut extends WorkflowOf<null, { as: string }> {
  static ran: unknown[] = [];

  @Step({ waitFor: Paid, waitTimeout: 1, onTimeout: 'run', skipIf: (ctx) => ctx.args.as !== 'run' })
  async woken(ctx: Ctx<this, typeof Paid>) {
    TimesOut.ran.push([ctx.attempt, ctx.timedOut]);
  }

  @Step({ waitFor: Paid, waitTimeout: 1, onTimeout: 'skip', skipIf: (ctx) => ctx.args.as !== 'skip' })
  async resolved() {
    TimesOut.ran.push('never');
  }
}

describe('verbs and moves of waiting runs', () => {
  // Registered first: a job that still waits would keep the application from closing.
  afterEach(() => {
    Slow.released.open();
    Batched.goOn.open();
  });

  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const PROVIDERS = [Signalled, Batched, Slow, LastWaits, TimesOut];
  const boot = () => suite.boot(PROVIDERS);
  const idle = () => suite.boot(PROVIDERS, { worker: false });

  beforeAll(async () => {
    await sql('create table statuses (id bigserial, workflow_id uuid, run text, step text)');
    await sql(`create function note_run() returns trigger language plpgsql as
      $$ begin insert into statuses (workflow_id, run) values (new.id, new.status); return new; end $$`);
    await sql(`create function note_step() returns trigger language plpgsql as
      $$ begin insert into statuses (workflow_id, step) values (new.workflow_id, new.step_name || ' ' || new.status); return new; end $$`);
    await sql('create trigger note after update of status on workflows for each row execute function note_run()');
    await sql(`create trigger note after insert or update of status on workflow_steps for each row
      when (new.parent_step_id is null) execute function note_step()`);
  });

  beforeEach(() => {
    Slow.released = gate();
    Slow.ran = 0;
    Batched.reached = gate();
    Batched.goOn = gate();
    Batched.goOn.open();
    TimesOut.ran = [];
  });

  let asked = '0';
  /** Every status that the run, and its rows, were ever written with since the last question. */
  const written = async (run: WorkflowHandle) => {
    const rows = await sql<{ id: string; run: string | null; step: string | null }>(
      'select * from statuses where workflow_id = $1 and id > $2 order by id',
      [run.id, asked],
    );
    asked = rows.at(-1)?.id ?? asked;
    return { run: rows.flatMap((row) => row.run ?? []), steps: rows.flatMap((row) => row.step ?? []) };
  };
  const startWaiting = async ({ workflows }: TestApp) => {
    const run = await workflows.start(Signalled, signalScript());
    await until(run, 'waiting');
    return run;
  };
  const startBatch = async ({ workflows }: TestApp, alone = false) => {
    const run = await workflows.start(Batched, { args: { alone } });
    await until(run, 'waiting');
    return run;
  };

  describe('in every status', () => {
    const releases: (() => void)[] = [];
    afterEach(() => releases.splice(0).forEach((release) => release()));

    async function runIn(status: RunStatus, app: TestApp): Promise<WorkflowHandle> {
      if (status === 'performing') {
        const first = held();
        releases.push(first.release);
        const run = await app.workflows.start(Signalled, signalScript({ first: first.body }));
        await first.reached;
        return run.reload();
      }
      if (status === 'ready') {
        const run = await app.workflows.start(
          Signalled,
          signalScript({ first: (ctx) => ctx.reattempt({ wait: '1 hour' }) }),
        );
        await suite.eventually(async () => (await attempts(run)).length === 2, 'it is scheduled an hour off');
        return run.reload();
      }
      const run = await startWaiting(app);
      if (status === 'paused') await run.pause();
      if (status === 'cancelled') await run.cancel();
      if (status === 'finished') {
        await run.signal(Paid);
        await until(run, 'finished');
      }
      return run.reload();
    }

    test('OPS-13 OPS-14 the table in the code agrees with the list', () => {
      const legal = (verb: 'skip' | 'signal') => RUN_STATUSES.filter((status) => isLegal(verb, status));
      expect(legal('skip')).toEqual(['waiting']);
      expect(legal('signal')).toEqual(['ready', 'performing', 'waiting', 'paused']);
    });

    test.each(['ready', 'performing', 'paused', 'finished', 'cancelled'] as const)(
      'OPS-13 skip is illegal when %s: it changes nothing',
      async (status) => {
        const run = await runIn(status, await boot());
        expect(run.status).toBe(status);
        expect(run.availableActions).not.toContain('skip');
        const before = await allRows(sql);
        const error = await run.skip().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(InvalidTransitionError);
        expect(error).toMatchObject({ verb: 'skip', status, allowed: run.availableActions });
        expect(await allRows(sql)).toEqual(before);
        if (!['finished', 'cancelled'].includes(status)) await run.cancel();
      },
    );

    test.each(['ready', 'performing', 'paused'] as const)(
      'OPS-14 signal when %s is stored, and the status stays',
      async (status) => {
        const run = await runIn(status, await boot());
        expect(run.availableActions).toContain('signal');
        expect((await run.signal('other')).status).toBe('pending');
        expect([run.status, (await run.reload()).status]).toEqual([status, status]);
        expect(await signalsOf(sql, run)).toEqual(['other pending']);
        expect((await trail(run)).at(-1)).toBe('signal_received');
        await run.cancel();
      },
    );

    test('OPS-14 signal when waiting: one that its step takes makes it ready, any other leaves it waiting', async () => {
      const run = await runIn('waiting', await boot());
      await run.signal('other');
      expect(run.status).toBe('waiting');
      await run.signal(Paid);
      expect(run.status).toBe('ready');
      await until(run, 'finished');
    });

    test.each(['finished', 'cancelled'] as const)('OPS-14 signal when %s is NotOngoingError', async (status) => {
      const run = await runIn(status, await boot());
      expect(run.availableActions).toEqual(['rerun']);
      const before = await allRows(sql);
      await expect(run.signal(Paid)).rejects.toThrow(NotOngoingError);
      expect(await allRows(sql)).toEqual(before);
    });
  });

  describe('skip', () => {
    test('OPS-13 OPS-16 OPS-31 of a signal wait: the next step is scheduled, by the actor, and runs', async () => {
      const run = await startWaiting(await boot());
      const parked = await newestRow(sql, run);
      await written(run);
      await run.skip({ actor: 'alice', reason: 'it was paid in cash' });
      expect(run.status).toBe('ready');
      await until(run, 'finished');
      const { run: statuses, steps } = await written(run);
      // Resolved in one go: nobody ever read it as performing before its next step was, and the row was never claimed.
      expect(statuses[0]).toBe('ready');
      expect(steps.slice(0, 2)).toEqual(['pay skipped', 'again scheduled']);
      expect(await attempts(run)).toEqual([
        'first#1 completed',
        'pay#1 skipped',
        'again#1 skipped',
        'last#1 completed',
      ]);
      const [row] = await sql('select claim_no, worker_id, started_at from workflow_steps where id = $1', [parked.id]);
      expect(row).toEqual({ claim_no: 0, worker_id: null, started_at: null });
      const events = (await run.events()).slice(6, 8);
      expect(events.map(({ name, actor, reason, stepName }) => [name, actor, reason, stepName])).toEqual([
        ['step_skipped', 'alice', 'it was paid in cash', 'pay'],
        ['step_scheduled', 'alice', null, 'again'],
      ]);
    });

    test('OPS-13 OPS-31 of the last step: the run is finished in the same transaction', async () => {
      const { workflows } = await boot();
      const run = await workflows.start(LastWaits);
      await until(run, 'waiting');
      await written(run);
      await run.skip();
      expect(run.status).toBe('finished');
      expect(await written(run)).toEqual({ run: ['finished'], steps: ['pay skipped'] });
      expect((await trail(run)).slice(-2)).toEqual(['step_skipped', 'finished']);
    });

    test('OPS-13 OPS-31 FAN-21 of a batch wait: the run goes on, the members still run, and their end changes nothing', async () => {
      const run = await startBatch(await boot());
      expect((await run.reload()).availableActions).toEqual(['pause', 'cancel', 'skip', 'signal']);
      await written(run);
      await run.skip({ actor: 'bob' });
      expect(run.status).toBe('ready');
      await until(run, 'finished');
      expect((await written(run)).run[0]).toBe('ready');
      expect(await attempts(run)).toEqual(['fan#1 skipped', 'last#1 completed']);
      const events = await run.events();
      Slow.released.open();
      await suite.eventually(async () => {
        const [{ open }] = await sql(
          `select count(*)::int as open from workflow_steps where workflow_id = $1 and parent_step_id is not null and finished_at is null`,
          [run.id],
        );
        return open === 0;
      }, 'the members have ended');
      expect(Slow.ran).toBe(2);
      expect(await run.events()).toEqual(events);
      expect(await until(run, 'finished')).toBe('finished');
    });

    test('OPS-18 two callers skip at once: one succeeds, the other gets the state error', async () => {
      const run = await startWaiting(await boot());
      const there = await (await idle()).workflows.find(run.id);
      const results = await Promise.allSettled([run.skip(), there.skip()]);
      // The step after the next does not wait, so there is nothing more to skip.
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect((await trail(run)).filter((name) => name === 'step_skipped').length).toBeGreaterThanOrEqual(1);
      await until(run, 'finished');
      expect((await attempts(run))[1]).toBe('pay#1 skipped');
    });
  });

  test('OPS-09 FAN-21 cancel of a batch wait: its row is cancelled, the members still run, and their end changes nothing', async () => {
    const run = await startBatch(await boot());
    await run.cancel();
    expect(await attempts(run)).toEqual(['fan#1 cancelled']);
    const events = await run.events();
    Slow.released.open();
    await suite.eventually(() => Slow.ran === 2, 'the members have run');
    await suite.eventually(async () => {
      const open = await sql(`select id from workflow_steps where workflow_id = $1 and finished_at is null`, [run.id]);
      return open.length === 0;
    }, 'the members have ended');
    expect(await run.events()).toEqual(events);
    expect((await run.reload()).status).toBe('cancelled');
  });

  describe('resume', () => {
    test('OPS-06 OPS-32 of a run paused while it waited: the same row waits on, and its signal wakes it', async () => {
      const run = await startWaiting(await boot());
      const parked = await newestRow(sql, run);
      await run.pause();
      expect(await newestRow(sql, run)).toMatchObject({ id: parked.id, status: 'waiting' });
      await run.resume({ actor: 'carol' });
      expect(run.status).toBe('waiting');
      expect(run.availableActions).toEqual(['pause', 'cancel', 'skip', 'signal']);
      expect(await newestRow(sql, run)).toEqual(parked);
      expect((await run.events()).at(-1)).toMatchObject({ name: 'resumed', actor: 'carol' });
      expect((await trail(run)).slice(-3)).toEqual(['step_waiting', 'paused', 'resumed']);
      await run.signal(Paid);
      await until(run, 'finished');
      expect((await attempts(run))[1]).toBe('pay#1 completed');
    });

    test('OPS-06 OPS-32 of a run paused on its batch: it waits on for the members', async () => {
      const run = await startBatch(await boot());
      await run.pause();
      await run.resume();
      expect(run.status).toBe('waiting');
      Slow.released.open();
      await until(run, 'finished');
      expect(await attempts(run)).toEqual(['fan#1 completed', 'last#1 completed']);
    });
  });

  test('OPS-29 a fan-out parks from in progress, output and all; nothing of the run is claimable until the batch ends', async () => {
    const app = await boot();
    Batched.goOn = gate();
    const run = await app.workflows.start(Batched, { args: {} });
    await Batched.reached.opened;
    expect(await newestRow(sql, run)).toMatchObject({ step_name: 'fan', status: 'in_progress' });
    Batched.goOn.open();
    await until(run, 'waiting');
    const { run: statuses, steps } = await written(run);
    expect(statuses).toEqual(['performing', 'waiting']);
    expect(steps).toEqual(['fan scheduled', 'fan in_progress', 'fan waiting']);
    const [row] = await sql(`select * from workflow_steps where workflow_id = $1 and parent_step_id is null`, [run.id]);
    expect(row).toMatchObject({ available_at: null, lease_expires_at: null, output: { added: 2 }, batch_size: 2 });
    const waiting = (await run.events()).at(-1);
    // DATA-09
    expect(waiting).toMatchObject({ name: 'step_waiting', stepId: row.id, details: { batch_id: row.id } });
    Slow.released.open();
    await until(run, 'finished');
    // OPS-31: resolved by the batch's end, in one transaction.
    const after = await written(run);
    expect(after.run[0]).toBe('ready');
    expect(after.steps.slice(0, 2)).toEqual(['fan completed', 'last scheduled']);
    const [{ claim_no: claims }] = await sql('select claim_no from workflow_steps where id = $1', [row.id]);
    expect(claims).toBe(1);
  });

  test('OPS-29 a gate parks without ever being in progress: nobody reads the state in between', async () => {
    const app = await boot();
    const run = await app.workflows.start(LastWaits);
    await until(run, 'waiting');
    expect(await written(run)).toEqual({ run: ['waiting'], steps: ['pay scheduled', 'pay waiting'] });
    await run.cancel();
  });

  test('OPS-30 a deadline under onTimeout run wakes the same row, which is then claimed like any other', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(TimesOut, { args: { as: 'run' } });
    await until(run, 'finished');
    expect(TimesOut.ran).toEqual([[1, true]]);
    expect(await written(run)).toEqual({
      run: ['waiting', 'ready', 'performing', 'ready', 'finished'],
      steps: [
        'woken scheduled', 'woken waiting', 'woken scheduled', 'woken in_progress', 'woken completed',
        'resolved scheduled', 'resolved skipped',
      ], // prettier-ignore
    });
  });

  test('OPS-31 a deadline that skips resolves in one transaction: the row is never claimed', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(TimesOut, { args: { as: 'skip' } });
    await until(run, 'finished');
    expect(TimesOut.ran).toEqual([]);
    expect(await written(run)).toEqual({
      run: ['ready', 'waiting', 'finished'],
      steps: ['woken scheduled', 'woken skipped', 'resolved scheduled', 'resolved waiting', 'resolved skipped'],
    });
  });
});
