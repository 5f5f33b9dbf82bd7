import {
  FanOut,
  Step,
  Workflow,
  WorkflowNotFoundError,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
} from 'nestjs-pg-workflows';
import { InvalidQueryError } from '../libs/workflow/src/insights/query-error';
import type { EventView } from '../libs/workflow/src/insights/views';
import { fanning, fanScript, Task } from './support/fan';
import { readsOf } from './support/reads';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

class GatewayTimeout extends Error {}

@Workflow({ name: 'Order' })
class Order extends WorkflowOf<null, { due: Date; tags: Set<string>; plan: string }> {
  @Step({ onException: { matching: GatewayTimeout, action: 'reattempt', maxReattempts: 1 } })
  async charge(ctx: Ctx<this>) {
    if (ctx.attempt < 3) throw new GatewayTimeout('gateway', { cause: new TypeError('socket closed') });
    ctx.output({ at: new Date('2026-01-31T14:02:00.000Z'), amount: 42n });
  }

  @Step({ waitFor: 'shipped' })
  async ship() {}
}

/** The same name, as an older or newer version of the application has it. */
@Workflow({ name: 'Order' })
class OrderAfterDeploy extends WorkflowOf {
  @Step()
  async charge() {}

  @Step()
  async pack() {}
}

@Workflow()
class Batches extends WorkflowOf<null, { script: string }> {
  @FanOut({ jobOptions: { queue: 'here' } })
  async fan(_: Ctx<this>, batch: FanOutBatch) {
    for (let n = 0; n < 4; n += 1) batch.add(Task, { script: 'none', n }, { queue: 'nobody' });
  }
}

const Fans = fanning('PageFans', {}, true);

const texts = (events: readonly EventView[]) => events.map(({ text }) => text);

describe("a run's page", () => {
  const suite = workflowSuite();
  const { sql, until } = suite;

  test('DASH-05 DASH-09 arguments, attempts, errors, signals and audit trail, readable; the cause chain and who did what', async () => {
    const app = await suite.boot([Order], { appRevision: 'abc123' });
    const { runs: reads } = readsOf(app);
    const args = { due: new Date('2026-02-01T00:00:00.000Z'), tags: new Set(['a', 'b']), plan: 'pro' };
    const run = await app.workflows.start(Order, { args, idempotencyKey: 'order-1', actor: 'shop' });
    await until(run, 'paused');

    const failed = await reads.run(run.id);
    expect(failed).toMatchObject({
      id: run.id,
      class: 'Order',
      status: 'paused',
      step: 'charge',
      attempt: 2,
      error_class: 'GatewayTimeout',
      stuck_reason: 'paused_error',
      args: { due: '2026-02-01T00:00:00.000Z', tags: ['a', 'b'], plan: 'pro' },
      idempotency_key: 'order-1',
      definition_loaded: true,
      definition_outdated: false,
      rerun_of: null,
      rerun_as: null,
      steps: ['charge', 'ship'],
      resume_label: 'Try step "charge" again',
      attempts_total: 2,
      signals: [],
    });
    expect(failed.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [2, 'paused'],
      [1, 'reattempted'],
    ]);
    const [row] = await sql(`select worker from workflow_steps where workflow_id = $1 limit 1`, [run.id]);
    expect(failed.attempts[0]).toMatchObject({
      status: 'failed',
      worker: row.worker,
      app_revision: 'abc123',
      durations: expect.stringMatching(/^queued \d+ms, ran \d+ms$/),
      error: {
        class: 'GatewayTimeout',
        message: 'gateway',
        backtrace: expect.stringContaining('dash.run.test.ts'),
        causes: [{ class: 'TypeError', message: 'socket closed' }],
      },
    });

    await run.resume({ actor: 'dashboard:alice', reason: 'gateway is up again' });
    await until(run, 'waiting');
    const signal = await run.signal('shipped', { on: new Date('2026-02-02T00:00:00.000Z') }, { idempotencyKey: 's1' });
    await until(run, 'finished');
    const done = await reads.run(run.id);
    expect(done.resume_label).toBeNull();
    expect(done.attempts.find(({ step, attempt }) => step === 'charge' && attempt === 3)!.output).toEqual({
      at: '2026-01-31T14:02:00.000Z',
      amount: '42',
    });
    expect(done.signals).toEqual([
      {
        id: signal.id,
        name: 'shipped',
        payload: { on: '2026-02-02T00:00:00.000Z' },
        idempotency_key: 's1',
        status: 'consumed',
        claimed_by_step_id: done.attempts[0].id,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      },
    ]);

    const { events, next_cursor } = await reads.events(run.id);
    expect(next_cursor).toBeNull();
    expect(texts(events)).toEqual([
      'Started by shop',
      'Step "charge", attempt 1, scheduled by shop',
      'Step "charge", attempt 1, started',
      'Step "charge", attempt 1, failed and is tried again',
      'Step "charge", attempt 2, scheduled',
      'Step "charge", attempt 2, started',
      'Step "charge", attempt 2, failed',
      'Paused',
      'Resumed by dashboard:alice: gateway is up again',
      'Step "charge", attempt 3, scheduled by dashboard:alice',
      'Step "charge", attempt 3, started',
      'Step "charge", attempt 3, completed',
      'Step "ship", attempt 1, scheduled',
      'Step "ship", attempt 1, waits for signal "shipped"',
      'Signal "shipped" received by app',
      'Step "ship", attempt 1, took signal "shipped"',
      'Step "ship", attempt 1, started',
      'Step "ship", attempt 1, completed',
      'Finished',
    ]);
    expect(events[8]).toMatchObject({
      name: 'resumed',
      actor: 'dashboard:alice',
      reason: 'gateway is up again',
      step: null,
    });

    const paged: EventView[] = [];
    for (let cursor: string | undefined; paged.length < events.length;) {
      const page = await reads.events(run.id, { limit: 5, ...(cursor && { cursor }) });
      paged.push(...page.events);
      cursor = page.next_cursor ?? undefined;
    }
    expect(paged).toEqual(events);
    await expect(reads.events(run.id, { cursor: 'x' })).rejects.toThrow(InvalidQueryError);
    await expect(reads.events(run.id, { limit: 501 })).rejects.toThrow(
      '"limit" has to be a whole number from 1 to 500',
    );
  });

  test('DASH-05 of more than a hundred attempts the newest are there; a step that waited for its time says so', async () => {
    const app = await suite.boot([Scripted], { worker: false });
    const { runs: reads } = readsOf(app);
    const run = await app.workflows.start(Scripted, script({}));
    await sql(
      `insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, created_at, scheduled_at, started_at,
                                   finished_at, worker_id)
       select workflow_id, handler, step_name, attempt + n, 'failed', 'reattempted', queue, at, at + interval '2 hours 5 minutes',
              at + interval '2 hours 5 minutes 8 milliseconds', at + interval '2 hours 5 minutes 1.208 seconds', workflow_id
       from workflow_steps, generate_series(1, 120) n, lateral (select now() - interval '1 day' as at) a where workflow_id = $1`,
      [run.id],
    );
    await sql(
      `insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at)
               select $1, 'Job', 'one', 1, n, 1, 'scheduled', 'nobody', now() from generate_series(0, 9) n`,
      [run.id],
    );
    const page = await reads.run(run.id);
    expect(page.attempts).toHaveLength(100);
    expect(page.attempts_total).toBe(121);
    expect(page.attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 100 }, (_, n) => 121 - n));
    expect(page.attempts[0]).toMatchObject({
      waited_ms: 7_500_000,
      queued_ms: 8,
      ran_ms: 1_200,
      durations: 'waited 2h 5m, queued 8ms, ran 1.2s',
    });
    await sql('delete from workflow_steps where workflow_id = $1 and (attempt > 1 or member_index >= 0)', [run.id]);
  });

  test('FAN-03 a batch with its counts, as members end', async () => {
    const app = await suite.boot([Batches, Fans, Task], { worker: { queues: ['default', 'here'] } });
    const { runs: reads } = readsOf(app);
    const waits = await app.workflows.start(Batches, { args: { script: '' } });
    await until(waits, 'waiting');
    const task = (n: number) => (n === 1 ? Promise.reject(new Error('no')) : undefined);
    const ended = await app.workflows.start(Fans, fanScript({ size: 3, task }));
    await until(ended, 'paused');
    expect((await reads.run(waits.id)).attempts[0].batch).toEqual({
      description: `Batches#fan ${waits.id}`,
      total: 4,
      completed: 0,
      failed: 0,
      unfinished: 4,
    });
    const page = await reads.run(ended.id);
    expect(page.attempts).toHaveLength(1);
    expect(page.attempts[0].batch).toMatchObject({ total: 3, completed: 2, failed: 1, unfinished: 0 });
    expect(page.now).toContain('at step "fan", attempt 1: FanOutFailedError');
    await waits.cancel();
  });

  test('DASH-07 REN-07 another list of steps is marked, a class that is not loaded too; a rerun and its origin name each other', async () => {
    const before = await suite.boot([Order], { worker: false });
    const args = { due: new Date(), tags: new Set<string>(), plan: 'pro' };
    const first = await before.workflows.start(Order, { args });
    await first.cancel({ actor: 'alice', reason: 'wrong plan' });
    const again = await first.rerun();
    const newest = await first.rerun();
    const { runs: reads } = readsOf(before);
    expect(await reads.run(first.id)).toMatchObject({ rerun_of: null, rerun_as: newest.id });
    expect((await reads.run(first.id)).now).toMatch(/^Cancelled by alice at .* at step "charge": wrong plan$/);
    expect(await reads.run(again.id)).toMatchObject({ rerun_of: first.id, rerun_as: null, definition_outdated: false });
    await sql('delete from workflows where id = $1', [newest.id]);
    await sql('delete from workflow_events where workflow_id = $1', [newest.id]);
    expect(await reads.run(first.id)).toMatchObject({ rerun_as: again.id });
    await again.pause();
    await before.close();

    const { runs: after } = readsOf(await suite.boot([OrderAfterDeploy], { worker: false }));
    expect(await after.run(again.id)).toMatchObject({
      definition_loaded: true,
      definition_outdated: true,
      steps: ['charge', 'pack'],
      resume_label: 'Go on with step "charge"',
    });
    const { runs: stranger } = readsOf(await suite.boot([Scripted], { worker: false }));
    expect(await stranger.run(again.id)).toMatchObject({
      definition_loaded: false,
      definition_outdated: false,
      steps: [],
      resume_label: 'Not from this process: the class is not loaded here',
    });
  });

  test('DASH-06 the stretches for which it was paused, oldest first, the last one open while it is; when it was read', async () => {
    const app = await suite.boot([Order], { worker: false });
    const { runs: reads } = readsOf(app);
    const run = await app.workflows.start(Order, { args: { due: new Date(), tags: new Set<string>(), plan: 'pro' } });
    expect((await reads.run(run.id)).pauses).toEqual([]);
    await run.pause();
    await run.resume();
    await run.pause();
    const at = (name: string) =>
      sql<{ at: Date }>(
        `select created_at as at from workflow_events where workflow_id = $1 and name = $2 order by id`,
        [run.id, name],
      ).then((rows) => rows.map((row) => row.at.toISOString()));
    const [[first, second], [resumed]] = [await at('paused'), await at('resumed')];
    const open = await reads.run(run.id);
    expect(open.pauses).toEqual([
      { from: first, to: resumed },
      { from: second, to: null },
    ]);
    expect(open.read_at >= second).toBe(true);
    const [row] = await sql<{ at: Date }>('select created_at as at from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    expect(open.attempts[0].created_at).toBe(row.at.toISOString());
    await run.cancel();
    const [cancelled] = await at('cancelled');
    expect((await reads.run(run.id)).pauses[1]).toEqual({ from: second, to: cancelled });
  });

  test('DASH-20 what is not there, or is no id, is not found', async () => {
    const { runs: reads } = readsOf(await suite.boot([Scripted], { worker: false }));
    const nobody = '0198f2a4-6c1e-7b3a-9d52-1f0c8e6a7b41';
    for (const id of [nobody, '42', '', "' or 1 = 1", 'a\0']) {
      await expect(reads.run(id)).rejects.toThrow(WorkflowNotFoundError);
      await expect(reads.events(id)).rejects.toThrow(WorkflowNotFoundError);
    }
  });
});
