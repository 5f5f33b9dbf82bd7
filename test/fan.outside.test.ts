import {
  WorkflowJob,
  type FanOutBatch,
  type JobHandler,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { atWork, fanning, fanScript, membersOf, Task, untilEnded } from './support/fan';
import { attemptsOf } from './support/rows';
import { gate, workflowSuite } from './support/suite';

const Fans = fanning('Fans');
const FansAtOnce = fanning('FansAtOnce', { transactional: true });
const Cancels = fanning('Cancels', { onBatchFailure: 'cancel' });
const Skips = fanning('Skips', { onBatchFailure: 'skip' });
const Last = fanning('Last', {}, true);

const KINDS = [
  ['a fan-out', Fans],
  ['a transactional fan-out', FansAtOnce],
] as const;

@WorkflowJob({ queue: 'mail' })
class SendMail implements JobHandler<{ to: string }> {
  async perform() {}
}

const boom = () => {
  throw new Error('boom');
};

describe('a fan-out and verbs from outside', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  /** Leaves the members of queue `mail` alone. */
  const boot = () =>
    suite.boot([Fans, FansAtOnce, Cancels, Skips, Last, Task, SendMail], { worker: { queues: ['default'] } });

  /** Adds members whose rows nobody touches. */
  const unserved = (size: number) => (_ctx: StepContext, batch: FanOutBatch) => {
    for (let n = 0; n < size; n += 1) batch.add(SendMail, { to: `${n}` });
  };

  test('FAN-15 FAN-20 an empty batch under an outside pause is held: the next row waits for resume', async () => {
    const { workflows } = await boot();
    const reached = gate();
    const go = gate();
    const run = await workflows.start(
      Fans,
      fanScript({
        fan: async () => {
          reached.open();
          await go.opened;
        },
      }),
    );
    await reached.opened;
    await run.pause();
    go.open();
    await suite.eventually(async () => (await run.steps()).length === 2, 'the next row is there');
    expect(await until(run, 'paused')).toBe('paused');
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 completed', 'after 1 scheduled']);
    await run.resume();
    await until(run, 'finished');
  });

  describe.each(KINDS)('%s from outside, while the body runs', (_kind, workflow) => {
    async function whileBodyRuns(act: (run: Awaited<ReturnType<typeof begin>>['run']) => Promise<unknown>) {
      const { run, go } = await begin();
      await act(run);
      go.open();
      return run;
    }

    async function begin() {
      const { workflows } = await boot();
      const reached = gate();
      const go = gate();
      const run = await workflows.start(
        workflow,
        fanScript({
          fan: async (ctx, batch) => {
            unserved(2)(ctx, batch);
            reached.open();
            await go.opened;
          },
        }),
      );
      await reached.opened;
      return { run, go };
    }

    test('FAN-20 pause: the batch still opens and the row waits, the run is paused; resume waits on', async () => {
      const run = await whileBodyRuns((performing) => performing.pause({ actor: 'alice' }));
      await suite.eventually(async () => (await membersOf(sql, run)).length === 2, 'the batch is open');
      expect(await until(run, 'paused')).toBe('paused');
      expect(await attemptsOf(sql, run)).toEqual(['fan 1 waiting']);
      expect((await trail(run)).slice(3)).toEqual(['paused', 'fan_out_opened', 'step_waiting']);
      await run.resume();
      expect(run.status).toBe('waiting');
      expect(await attemptsOf(sql, run)).toEqual(['fan 1 waiting']);
      await sql(`update workflow_steps set queue = 'default' where workflow_id = $1 and member_index >= 0`, [run.id]);
      await until(run, 'finished');
    });

    test('FAN-20 cancel: no batch opens', async () => {
      const run = await whileBodyRuns((performing) => performing.cancel());
      await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the body has ended');
      expect(await until(run, 'cancelled')).toBe('cancelled');
      expect(await attemptsOf(sql, run)).toEqual(['fan 1 cancelled']);
      expect(await membersOf(sql, run)).toEqual([]);
      expect((await trail(run)).slice(3)).toEqual(['cancelled', 'late_completion_ignored']);
    });

    test('FAN-20 pause and resumeAt: the superseded body opens no batch, the new attempt its own', async () => {
      const run = await whileBodyRuns(async (performing) => {
        await performing.pause();
        await performing.resumeAt('fan');
      });
      await until(run, 'waiting');
      await suite.eventually(async () => (await trail(run)).includes('late_completion_ignored'), 'the body has ended');
      expect(await attemptsOf(sql, run)).toEqual(['fan 1 cancelled', 'fan 2 waiting']);
      expect(await membersOf(sql, run)).toEqual(['fan 2 [0] scheduled', 'fan 2 [1] scheduled']);
    });
  });

  describe('while the run is paused', () => {
    test('FAN-19 a completed batch is held: the next row is there and waits for resume', async () => {
      const app = await boot();
      const { run, release } = await atWork(app, Fans, 2);
      await run.pause({ actor: 'alice' });
      release(0, 1);
      await suite.eventually(async () => (await run.steps()).length === 2, 'the next row is there');
      expect(await until(run, 'paused')).toBe('paused');
      expect(await attemptsOf(sql, run)).toEqual(['fan 1 completed', 'after 1 scheduled']);
      expect((await run.steps())[1].availableAt).toBeNull();
      expect((await trail(run)).slice(5)).toEqual(['paused', 'fan_out_finished', 'step_completed', 'step_scheduled']);
      await run.resume();
      expect(run.status).toBe('ready');
      await until(run, 'finished');
    });

    test('FAN-19 a skipped one likewise', async () => {
      const app = await boot();
      const { run, release } = await atWork(app, Skips, 1, boom);
      await run.pause();
      release(0);
      await suite.eventually(async () => (await run.steps()).length === 2, 'the next row is there');
      expect(await until(run, 'paused')).toBe('paused');
      expect(await attempts(run)).toEqual(['fan#1 skipped: FanOutFailedError', 'after#1 scheduled']);
      await run.resume();
      await until(run, 'finished');
    });

    test('FAN-19 as the last step: the run is finished', async () => {
      const app = await boot();
      const { run, release } = await atWork(app, Last, 1);
      await run.pause();
      release(0);
      await until(run, 'finished');
      expect((await trail(run)).slice(5)).toEqual(['paused', 'fan_out_finished', 'step_completed', 'finished']);
    });

    test('FAN-19 FAN-11 failed under pause, or gone: the row fails and the run stays paused; resume fans out again', async () => {
      const app = await boot();
      const failed = await atWork(app, Fans, 1, boom);
      const gone = await atWork(app, Cancels, 2);
      await failed.run.pause();
      await gone.run.pause();
      await sql('delete from workflow_steps where workflow_id = $1 and member_index = 0', [gone.run.id]);
      failed.release(0);
      gone.release(0, 1);
      for (const { run } of [failed, gone]) {
        await suite.eventually(async () => (await run.steps())[0].status === 'failed', 'the row has failed');
        expect(await until(run, 'paused')).toBe('paused');
        expect((await trail(run)).slice(5)).toEqual(['paused', 'fan_out_finished', 'step_failed']);
        await run.resume();
        await suite.eventually(
          async () => (await membersOf(sql, run)).some((line) => line.startsWith('fan 2')),
          'a new batch',
        );
      }
      await until(gone.run, 'finished');
    });

    test('FAN-19 failed under cancel: the run is cancelled', async () => {
      const app = await boot();
      const { run, release } = await atWork(app, Cancels, 1, boom);
      await run.pause();
      release(0);
      await until(run, 'cancelled');
      expect((await trail(run)).slice(5)).toEqual(['paused', 'fan_out_finished', 'step_failed', 'cancelled']);
    });

    test('FAN-19 FAN-20 resumed before the batch ends: the run waits again, and goes on as if never paused', async () => {
      const app = await boot();
      const { run, release } = await atWork(app, Fans, 1);
      await run.pause();
      await run.resume();
      expect(run.status).toBe('waiting');
      release(0);
      await until(run, 'finished');
    });
  });

  test.each([
    ['skip', (run: WorkflowHandle) => run.skip(), 'finished', ['fan 1 skipped', 'after 1 completed']],
    ['cancel', (run: WorkflowHandle) => run.cancel(), 'cancelled', ['fan 1 cancelled']],
  ] as const)(
    'FAN-21 AMB-14 %s of a run that waits on a batch: its members still run, and their end changes nothing',
    async (_verb, call, status, rows) => {
      const app = await boot();
      const performed: number[] = [];
      const { run, release } = await atWork(app, Fans, 3, (n) => void performed.push(n));
      // One of them is yet to be claimed.
      await sql(
        `update workflow_steps set status = 'scheduled', scheduled_at = statement_timestamp() + interval '1 hour',
           available_at = statement_timestamp() + interval '1 hour', claim_no = claim_no + 1
         where workflow_id = $1 and member_index = 2`,
        [run.id],
      );
      await call(run);
      await until(run, status);
      const before = await trail(run);
      await sql(
        'update workflow_steps set available_at = statement_timestamp() where workflow_id = $1 and member_index = 2',
        [run.id],
      );
      release(0, 1, 2);
      await untilEnded(suite, run, 3);
      await app.close();
      expect(performed.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 2]);
      expect(await trail(run)).toEqual(before);
      expect(before).not.toContain('fan_out_finished');
      expect(await attemptsOf(sql, run)).toEqual(rows);
    },
  );
});
