import {
  CancelIf,
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { Connection } from '../libs/workflow/src/store/connection';
import { attempts } from './support/attempts';
import { fanning, fanScript, fanTrail, membersOf, Task } from './support/fan';
import { holdRuns } from './support/locks';
import { attemptsOf } from './support/rows';
import { gate, workflowSuite } from './support/suite';

const Fans = fanning('Fans');

@WorkflowJob()
class Other implements JobHandler {
  async perform() {}
}

const asked: string[] = [];

@Workflow()
class Guarded extends WorkflowOf<null, { gone?: boolean; skip?: boolean; fails?: number }> {
  @CancelIf()
  gone({ args }: Ctx<this>) {
    asked.push('gone');
    return args.gone;
  }

  @Step()
  async before() {}

  @FanOut({
    wait: '2h',
    skipIf: 'unwanted',
    jobOptions: { queue: 'fans', priority: 3 },
    onException: { action: 'reattempt', maxReattempts: 1, terminalAction: 'cancel' },
  })
  async fan(ctx: Ctx<this>, batch: FanOutBatch) {
    if (ctx.attempt <= (ctx.args.fails ?? 0)) throw new RangeError('not yet');
    batch.add(Task, { script: 'none', n: 0 }, { queue: 'nobody' });
  }

  unwanted({ args }: Ctx<this>) {
    asked.push('unwanted');
    return args.skip;
  }
}

describe('fan-outs among processes', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  const elsewhere = (queue: string) => (ctx: StepContext, batch: FanOutBatch) => {
    for (let n = 0; n < 3; n += 1) batch.add(Task, { script: ctx.args.script, n }, { queue });
  };
  const untilDueToJoin = (run: WorkflowHandle) =>
    suite.eventually(async () => {
      const [row] = await sql<{ due: boolean }>(
        `select available_at is not null as due from workflow_steps where workflow_id = $1 and member_index = -1 order by id desc limit 1`,
        [run.id],
      );
      return row.due;
    }, 'the batch is due to be joined');

  test('FAN-22 wait, jobOptions, guards and policies work as on a plain step', async () => {
    const { workflows } = await suite.boot([Guarded, Task], { worker: { queues: ['default', 'fans'] } });
    const run = await workflows.start(Guarded, { args: { fails: 1 } });
    await suite.eventually(async () => (await run.steps()).length === 2, 'the fan-out is scheduled');
    const [, row] = await run.steps();
    expect(row).toMatchObject({ queue: 'fans', priority: 3, status: 'scheduled' });
    expect(row.availableAt!.getTime() - Date.now()).toBeGreaterThan(7_000_000);
    await (await run.reload()).runNow();
    await until(run, 'waiting');
    expect(await attempts(run)).toEqual([
      'before#1 completed',
      'fan#1 failed, reattempted: RangeError',
      'fan#2 waiting',
    ]);
    expect(asked).toEqual(['gone', 'gone', 'unwanted', 'gone', 'unwanted']);
    await run.cancel();

    const spent = await workflows.start(Guarded, { args: { fails: 2 } });
    const skipped = await workflows.start(Guarded, { args: { skip: true } });
    for (const one of [spent, skipped]) {
      await suite.eventually(async () => (await one.steps()).length === 2, 'the fan-out is scheduled');
      await (await one.reload()).runNow();
    }
    await until(spent, 'cancelled');
    await until(skipped, 'finished');
    expect((await attempts(spent)).at(-1)).toBe('fan#2 failed, cancelled: RangeError');
    expect((await attempts(skipped)).at(-1)).toBe('fan#1 skipped');
    const gone = await workflows.start(Guarded, { args: { gone: true } });
    await until(gone, 'cancelled');
    for (const one of [spent, skipped, gone]) expect(await membersOf(sql, one)).toEqual([]);
  });

  test('FAN-01 AMB-22 members whose job is not loaded here are left for a process that has it', async () => {
    const { workflows } = await suite.boot([Fans, Task, Other], { worker: { queues: ['default'] } });
    const fan = (ctx: StepContext, batch: FanOutBatch) => {
      elsewhere('left')(ctx, batch);
      batch.add(Other, {}, { queue: 'left' });
    };
    const run = await workflows.start(Fans, fanScript({ fan }));
    await until(run, 'waiting');
    const stranger = await suite.boot([Fans, Other], { worker: { queues: ['left'] } });
    await suite.eventually(
      async () => (await membersOf(sql, run))[3] === 'fan 1 [3] completed',
      'it has served what it has the job of',
    );
    expect((await membersOf(sql, run)).slice(0, 3)).toEqual([0, 1, 2].map((n) => `fan 1 [${n}] scheduled`));
    await stranger.close();
    await suite.boot([Task], { worker: { queues: ['left'] } });
    await until(run, 'finished');
  });

  test('FAN-22 AMB-39 AMB-22 a process without the class leaves the batch due to be joined, durably', async () => {
    const first = await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    const run = await first.workflows.start(Fans, fanScript({ fan: elsewhere('durable') }));
    await until(run, 'waiting');
    await first.close();
    const jobs = await suite.boot([Task], { worker: { queues: ['durable'] } });
    await untilDueToJoin(run);
    const row = await suite.boot([Fans, Task], { worker: false });
    const handle = await row.workflows.find(run.id);
    expect(handle.status).toBe('waiting');
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 waiting']);
    expect(await trail(run)).not.toContain('fan_out_finished');
    await jobs.close();
    await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    await until(run, 'finished');
    expect((await fanTrail(handle)).filter((event) => event.startsWith('fan_out_finished'))).toEqual([
      'fan_out_finished {"failed_jobs":0,"total_jobs":3}',
    ]);
  });

  test('FAN-22 AMB-39 the processes that have the class are told: none waits for its poll', async () => {
    const hour = { pollInterval: '1h' } as const;
    const { workflows } = await suite.boot([Fans, Task], { worker: { queues: ['default'], ...hour } });
    await suite.boot([Task], { worker: { queues: ['told'], ...hour } });
    const run = await workflows.start(Fans, fanScript({ fan: elsewhere('told') }));
    expect(await until(run, 'finished')).toBe('finished');
  });

  test('FAN-22 AMB-39 a run that somebody holds does not keep the joins of others', async () => {
    const jobs = await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    const runs = [
      await jobs.workflows.start(Fans, fanScript({ fan: elsewhere('beside') })),
      await jobs.workflows.start(Fans, fanScript({ fan: elsewhere('beside') })),
    ];
    for (const run of runs) await until(run, 'waiting');
    await jobs.close();
    const other = await suite.boot([Task], { worker: { queues: ['beside'] } });
    for (const run of runs) await untilDueToJoin(run);
    await other.close();
    const [held] = await sql<{ workflow_id: string }>(
      `select workflow_id from workflow_steps where status = 'waiting' and available_at is not null order by available_at limit 1`,
    );
    const lock = await holdRuns(suite, [held.workflow_id]);
    await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    await until(
      runs.find(({ id }) => id !== held.workflow_id)!,
      'finished',
    );
    expect(await until(held.workflow_id, 'waiting')).toBe('waiting');
    await lock.release();
    await until(held.workflow_id, 'finished');
  });

  test('FAN-19 AMB-39 a batch that a process without the class ended under an outside pause is held', async () => {
    const { workflows } = await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    const run = await workflows.start(Fans, fanScript({ fan: elsewhere('held') }));
    await until(run, 'waiting');
    await run.pause();
    await suite.boot([Task], { worker: { queues: ['held'] } });
    await suite.eventually(async () => (await run.steps()).length === 2, 'the next row is there');
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 completed', 'after 1 scheduled']);
    expect(await until(run, 'paused')).toBe('paused');
    await run.resume();
    await until(run, 'finished');
  });

  test('FAN-22 AMB-39 paused and resumed, a batch that is due to be joined still is', async () => {
    const first = await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    const run = await first.workflows.start(Fans, fanScript({ fan: elsewhere('resumed') }));
    await until(run, 'waiting');
    await first.close();
    await suite.boot([Task], { worker: { queues: ['resumed'] } });
    await untilDueToJoin(run);
    const { workflows } = await suite.boot([Fans, Task], { worker: false });
    const handle = await workflows.find(run.id);
    await handle.pause();
    await handle.resume();
    expect(handle.status).toBe('waiting');
    await untilDueToJoin(run);
    await suite.boot([Fans, Task], { worker: { queues: ['default'] } });
    await until(run, 'finished');
  });

  test('FAN-06 a worker that stops as the last member ends joins its batch before it goes', async () => {
    const app = await suite.boot([Fans, Task]);
    const [begin, reached, go] = [gate(), gate(), gate()];
    const run = await app.workflows.start(Fans, fanScript({ size: 1, task: () => begin.opened }));
    await until(run, 'waiting');
    const [batch] = await run.steps();
    const query = Object.getOwnPropertyDescriptor(Connection.prototype, 'run')!.value as Connection['run'];
    const spy = jest.spyOn(Connection.prototype, 'run').mockImplementation(async function (
      this: Connection,
      statement,
      values,
    ) {
      if (statement.name === 'wf_open_member' && values[0] === batch.id) {
        reached.open();
        await go.opened;
      }
      return query.call(this, statement, values) as never;
    });
    try {
      begin.open();
      await reached.opened;
      const closing = app.close();
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      go.open();
      await closing;
    } finally {
      spy.mockRestore();
    }
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 completed', 'after 1 scheduled']);
  });
});
