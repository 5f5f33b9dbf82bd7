import {
  currentStep,
  WorkflowJob,
  type CurrentStep,
  type FanOutBatch,
  type JobContext,
  type JobHandler,
  type RunStatus,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { fanning, fanScript, membersOf, Task } from './support/fan';
import { gate, workflowSuite } from './support/suite';

const Fans = fanning('Fans');

@Entity('vendors')
class Vendor {
  @PrimaryColumn() id!: string;
  @Column() name!: string;
}

const tried: string[] = [];
const boom = (what = 'boom'): never => {
  throw new RangeError(what, { cause: new Error('below') });
};

/** The first further try at once, those after it in an hour. */
@WorkflowJob({ maxAttempts: 3, backoff: (tries) => (tries === 1 ? 0 : '1h') })
class Persists implements JobHandler<{ until: number }> {
  async perform({ until }: { until: number }, job: JobContext) {
    tried.push(`${job.workflowId} ${job.attempt}`);
    if (job.attempt < until) boom(`try ${job.attempt}`);
  }
}

@WorkflowJob()
class ByDefault implements JobHandler {
  async perform() {
    boom();
  }
}

@WorkflowJob({ backoff: () => 'some day' as '1d' })
class Undecided implements JobHandler {
  async perform() {
    boom();
  }
}

@WorkflowJob({ maxAttempts: 1 })
class Throws implements JobHandler<{ what: 'nul' | 'string' | 'nothing' | 'hostile' }> {
  perform({ what }: { what: string }) {
    const hostile = new Proxy({}, { get: () => boom('looked at') });
    // What is thrown is the application's to choose.
    throw { nul: new Error('a\0b \ud800'), string: 'just text', nothing: undefined, hostile }[what]; // eslint-disable-line no-throw-literal
  }
}

const received: unknown[] = [];

@WorkflowJob({ maxAttempts: 1 })
class Receives implements JobHandler {
  async perform(args: unknown) {
    received.push(args);
  }
}

describe('members', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const providers = [Fans, Task, Persists, ByDefault, Undecided, Throws, Receives];
  const boot = () => suite.boot(providers, { entities: [Vendor] });

  beforeAll(() => sql('create table vendors (id text primary key, name text not null)'));

  const adding =
    <Args>(job: new () => JobHandler<Args>, ...each: Args[]) =>
    (_ctx: StepContext, batch: FanOutBatch) =>
      each.forEach((args) => batch.add(job, args));

  const rowsOf = (run: WorkflowHandle) =>
    sql(
      `select *, round(extract(epoch from available_at - statement_timestamp()))::int as due_in
       from workflow_steps where workflow_id = $1 and member_index >= 0 order by id`,
      [run.id],
    );

  const untilRow = (run: WorkflowHandle, status: string, tries: number) =>
    suite.eventually(async () => {
      const [row] = await rowsOf(run);
      return row?.status === status && row.job_attempt === tries;
    }, `the member is ${status} after ${tries} tries`);

  test('FAN-23 FAN-05 a member that throws is tried again after its backoff, in its one row, while the step waits', async () => {
    const { workflows, reported } = await boot();
    const run = await workflows.start(Fans, fanScript({ fan: adding(Persists, { until: 3 }) }));
    await untilRow(run, 'scheduled', 2);
    expect(await until(run, 'waiting')).toBe('waiting');
    const [row, ...more] = await rowsOf(run);
    expect(more).toEqual([]);
    expect(row).toMatchObject({
      attempt: 1,
      finished_at: null,
      error_class: 'RangeError',
      error_message: 'try 2',
      error_causes: [{ class: 'Error', message: 'below' }],
    });
    expect(row.due_in).toBeGreaterThan(3_500);
    expect(row.due_in).toBeLessThanOrEqual(3_600);
    await sql('update workflow_steps set available_at = statement_timestamp() where id = $1', [row.id]);
    await until(run, 'finished');
    expect(tried).toEqual([1, 2, 3].map((number) => `${run.id} ${number}`));
    expect((await rowsOf(run))[0]).toMatchObject({ status: 'completed', job_attempt: 3, error_class: null });
    expect(reported).toEqual([]);
  });

  test('FAN-23 FAN-24 with its attempts spent it is dead-lettered, error and all, and not tried again', async () => {
    const { workflows } = await boot();
    const performed: number[] = [];
    const task = (_n: number, job: JobContext) => {
      performed.push(job.attempt);
      boom(`try ${job.attempt}`);
    };
    const run = await workflows.start(Fans, fanScript({ size: 1, task }));
    await until(run, 'paused');
    const [row] = await rowsOf(run);
    expect(row).toMatchObject({
      status: 'failed',
      job_attempt: 2,
      finished_at: expect.any(Date),
      error_class: 'RangeError',
      error_message: 'try 2',
      error_backtrace: expect.stringContaining('fan.members.test'),
    });
    await until(await workflows.start(Fans, fanScript({ size: 1 })), 'finished');
    expect(performed).toEqual([1, 2]);
  });

  test('FAN-23 by default a member is tried again after ten seconds', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Fans, fanScript({ fan: adding(ByDefault, {}) }));
    await untilRow(run, 'scheduled', 1);
    const [row] = await rowsOf(run);
    expect(row.due_in).toBeGreaterThanOrEqual(5);
    expect(row.due_in).toBeLessThanOrEqual(10);
  });

  test('FAN-23 a backoff that gives no duration dead-letters the member', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Fans, fanScript({ fan: adding(Undecided, {}) }));
    await until(run, 'paused');
    expect((await rowsOf(run))[0]).toMatchObject({ status: 'failed', job_attempt: 1, error_message: 'boom' });
  });

  test('FAN-23 whatever a member throws is kept as an error', async () => {
    const { workflows } = await boot();
    const all = ['nul', 'string', 'nothing', 'hostile'].map((what) => ({ what: what as 'nul' }));
    const run = await workflows.start(Fans, fanScript({ fan: adding(Throws, ...all) }));
    await until(run, 'paused');
    const rows = await rowsOf(run);
    expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed']);
    for (const row of rows) expect(row.error_class).toEqual(expect.any(String));
    expect(rows[1].error_message).toBe('just text');
  });

  test('FAN-23 a batch whose last member ended without a join is joined once it is due to be joined', async () => {
    const { workflows } = await suite.boot(providers, { entities: [Vendor], worker: { queues: ['default'] } });
    const fan = (_ctx: StepContext, batch: FanOutBatch) => {
      for (let n = 0; n < 3; n += 1) batch.add(Receives, {}, { queue: 'unserved' });
    };
    const run = await workflows.start(Fans, fanScript({ fan }));
    await until(run, 'waiting');
    await sql(
      `update workflow_steps set finished_at = statement_timestamp(), status = case member_index when 0 then 'failed' else 'completed' end
       where workflow_id = $1 and member_index >= 0`,
      [run.id],
    );
    const [{ id }] = await run.steps();
    await sql(`update workflow_steps set available_at = statement_timestamp() where id = $1`, [id]);
    await until(run, 'paused');
    expect((await run.steps())[0].error!.message).toBe('1 of 3 jobs dead-lettered');
  });

  test('FAN-23 a batch that is due to be joined too early waits for its members', async () => {
    const { workflows } = await boot();
    const go = gate();
    const run = await workflows.start(Fans, fanScript({ size: 2, task: (n) => n === 1 && go.opened }));
    await until(run, 'waiting');
    await sql(
      `update workflow_steps set available_at = statement_timestamp() where workflow_id = $1 and status = 'waiting'`,
      [run.id],
    );
    await until(await workflows.start(Fans, fanScript({ size: 1 })), 'finished');
    expect(await until(run, 'waiting')).toBe('waiting');
    go.open();
    await until(run, 'finished');
  });

  test('FAN-23 one member whose end the database refuses does not keep the others', async () => {
    const { workflows } = await boot();
    await sql(`create function refuse_member() returns trigger language plpgsql as $$
               begin raise exception 'not this one' using errcode = '23514'; end $$`);
    await sql(`create trigger refuse before update on workflow_steps for each row
               when (new.member_index = 2 and new.status = 'completed') execute function refuse_member()`);
    const all = gate();
    let begun = 0;
    const task = async () => {
      begun += 1;
      if (begun === 5) all.open();
      // All end in one turn, so that they are settled as one set.
      await all.opened;
    };
    const run = await workflows.start(Fans, fanScript({ size: 5, task }));
    const completed = async () => (await rowsOf(run)).filter(({ status }) => status === 'completed').length;
    await suite.eventually(async () => (await completed()) === 4, 'the others have ended');
    await sql('drop trigger refuse on workflow_steps');
    expect((await rowsOf(run)).map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'in_progress',
      'completed',
      'completed',
    ]);
    // As taking up a lost worker's rows does.
    await sql(
      `update workflow_steps set status = 'scheduled', available_at = statement_timestamp() where workflow_id = $1 and member_index = 2`,
      [run.id],
    );
    await until(run, 'finished');
  });

  test('FAN-24 JobContext tells id, attempt and run, and where the run stands', async () => {
    const { workflows } = await boot();
    const seen: { job: JobContext; step: CurrentStep | undefined; status: RunStatus | null }[] = [];
    const [reached, go] = [gate(), gate()];
    const task = async (_n: number, job: JobContext) => {
      seen.push({ job, step: currentStep(), status: await job.runStatus() });
      if (job.attempt === 1) boom();
      reached.open();
      await go.opened;
    };
    const run = await workflows.start(Fans, fanScript({ size: 1, task }));
    await reached.opened;
    const [row] = await rowsOf(run);
    expect(seen.map(({ job }) => [job.id, job.attempt, job.workflowId])).toEqual([
      [row.id, 1, run.id],
      [row.id, 2, run.id],
    ]);
    expect(seen.map(({ status }) => status)).toEqual(['waiting', 'waiting']);
    expect(seen[1].step).toEqual({ workflowId: run.id, workflowName: 'Fans', stepName: 'fan', attempt: 2 });
    const { job } = seen[1];
    expect(job.abortSignal.aborted).toBe(false);
    await run.pause();
    expect(await job.runStatus()).toBe('paused');
    await run.cancel();
    expect(await job.runStatus()).toBe('cancelled');
    await sql('delete from workflow_events where workflow_id = $1', [run.id]);
    await sql('delete from workflows where id = $1', [run.id]);
    expect(await job.runStatus()).toBeNull();
    go.open();
  });

  test('FAN-24 abortSignal aborts at shutdown; the member that obeys is tried again by another worker', async () => {
    const app = await suite.boot(providers, { entities: [Vendor], worker: { shutdownGrace: 1 } });
    const reached = gate();
    const go = gate();
    const attempts: number[] = [];
    const task = async (_n: number, job: JobContext) => {
      attempts.push(job.attempt);
      if (job.attempt === 2) return;
      reached.open();
      await Promise.race([
        go.opened,
        new Promise((_, reject) =>
          job.abortSignal.addEventListener('abort', () => reject(job.abortSignal.reason as Error)),
        ),
      ]);
    };
    const run = await app.workflows.start(Fans, fanScript({ size: 1, task }));
    await reached.opened;
    await app.close();
    expect((await rowsOf(run))[0]).toMatchObject({ status: 'scheduled', error_message: 'The worker is shutting down' });
    await boot();
    await until(run, 'finished');
    expect(attempts).toEqual([1, 2]);
  });

  test('FAN-01 entities, dates and what JSON cannot say arrive as they were given; a record that is gone as null', async () => {
    const { workflows } = await boot();
    await sql(`insert into vendors values ('v1', 'Ann'), ('v2', 'Bob')`);
    const vendor = (id: string) => Object.assign(new Vendor(), { id, name: 'as it was' });
    const at = new Date('2026-02-03T04:05:06.789Z');
    const fan = (_ctx: StepContext, batch: FanOutBatch) => {
      const shared = { at, many: new Map([['a', 1n]]) };
      batch.add(Receives, { vendor: vendor('v1'), ...shared });
      batch.add(Receives, { vendor: vendor('v3') });
      batch.add(Receives, 'just text');
      batch.add(Receives, null);
      shared.many.set('b', 2n);
    };
    received.length = 0;
    const run = await workflows.start(Fans, fanScript({ fan }));
    await until(run, 'finished');
    expect(received).toHaveLength(4);
    expect(received).toEqual(
      expect.arrayContaining([
        { vendor: { id: 'v1', name: 'Ann' }, at, many: new Map([['a', 1n]]) },
        { vendor: null },
        'just text',
        {},
      ]),
    );
    expect(received.some((args) => (args as { vendor?: unknown }).vendor instanceof Vendor)).toBe(true);
  });

  test('FAN-01 smaller priorities run first, and no more than concurrency at once', async () => {
    const { workflows } = await suite.boot(providers, { entities: [Vendor], worker: { concurrency: 2 } });
    const order: number[] = [];
    let atOnce = 0;
    let most = 0;
    const first = gate();
    const task = async (n: number) => {
      order.push(n);
      atOnce += 1;
      most = Math.max(most, atOnce);
      if (order.length === 2) first.open();
      await first.opened;
      await new Promise(setImmediate);
      atOnce -= 1;
    };
    const fan = (ctx: StepContext, batch: FanOutBatch) => {
      for (let n = 0; n < 12; n += 1) batch.add(Task, { script: ctx.args.script, n }, { priority: 100 - n });
    };
    const run = await workflows.start(Fans, fanScript({ fan, task }));
    await until(run, 'finished');
    expect(most).toBe(2);
    // Both of a claim begin together, so neighbours may change places.
    for (const [place, n] of order.entries()) expect(Math.abs(11 - place - n)).toBeLessThanOrEqual(1);
  });

  test('FAN-24 a perform that never settles gives its slot back after stallThreshold: the worker goes on', async () => {
    const app = await suite.boot(providers, {
      entities: [Vendor],
      stallThreshold: 1,
      worker: { concurrency: 1, shutdownGrace: 1 },
    });
    const reached = gate();
    const task = (n: number, job: JobContext) => {
      if (n !== 0 || job.attempt > 1) return undefined;
      reached.open();
      return new Promise((_, reject) => job.abortSignal.addEventListener('abort', () => reject(new Error('stopped'))));
    };
    const stuck = await app.workflows.start(Fans, fanScript({ size: 1, task }));
    await reached.opened;
    const other = await app.workflows.start(Fans, fanScript({ size: 3 }));
    await until(other, 'finished');
    expect(await membersOf(sql, stuck)).toEqual(['fan 1 [0] in_progress']);
    expect(await until(stuck, 'waiting')).toBe('waiting');
    await app.close();
    await boot();
    await until(stuck, 'finished');
  });

  test.each([
    ['paused', (run: WorkflowHandle) => run.pause()],
    ['cancelled', (run: WorkflowHandle) => run.cancel()],
  ] as const)('FAN-21 AMB-14 members of a %s run are claimed and run all the same', async (status, call) => {
    const { workflows } = await suite.boot(providers, { entities: [Vendor], worker: { queues: ['default'] } });
    const performed: (RunStatus | null)[] = [];
    const fan = (ctx: StepContext, batch: FanOutBatch) =>
      batch.add(Task, { script: ctx.args.script, n: 0 }, { queue: `later ${status}` });
    const task = async (_n: number, job: JobContext) => void performed.push(await job.runStatus());
    const run = await workflows.start(Fans, fanScript({ fan, task }));
    await until(run, 'waiting');
    await call(run);
    await suite.boot(providers, { entities: [Vendor], worker: { queues: [`later ${status}`] } });
    await suite.eventually(async () => (await rowsOf(run))[0].status === 'completed', 'the member has run');
    expect(performed).toEqual([status]);
    expect(await until(run, status)).toBe(status);
  });
});
