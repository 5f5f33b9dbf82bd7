import {
  CancelIf,
  onWorkflowMessage,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type WorkflowChannel,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { leaveInProgress } from './support/lost-worker';
import { bootMetricsApp, linesOf, type MetricsApp } from './support/metrics-app';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { CLAIMS_NOTHING, startedAgo, sweep } from './support/sweep';
import { passDeadline, timeOuts, waiting } from './support/waits';

class Declined extends Error {
  override readonly name = 'Declined';
}

type Way = 'guard' | 'skipIf' | 'cancels' | 'skips' | 'reattempts' | 'pauses';

/** One way to end for each policy and guard. */
@Workflow()
class Ways extends WorkflowOf<null, { way: Way }> {
  @CancelIf()
  unwanted({ args }: Ctx<this>) {
    return args.way === 'guard';
  }

  @Step({
    skipIf: ({ args }) => (args as { way: Way }).way === 'skipIf',
    onException: [
      { matching: RangeError, action: 'cancel' },
      { matching: SyntaxError, action: 'skip' },
      { matching: TypeError, action: 'reattempt', maxReattempts: 2, terminalAction: 'pause' },
    ],
  })
  async only(ctx: Ctx<this>) {
    if (ctx.args.way === 'cancels') throw new RangeError();
    if (ctx.args.way === 'skips') throw new SyntaxError();
    if (ctx.args.way === 'reattempts') throw new TypeError();
    if (ctx.args.way === 'pauses') throw new Declined();
  }
}

@Workflow()
class Booking extends WorkflowOf<null, { fails: boolean }> {
  @Step({ transactional: true })
  async book(ctx: Ctx<this>) {
    if (ctx.args.fails) throw new Declined();
  }
}

const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });
const Skipped = waiting({ waitTimeout: '1 hour', onTimeout: 'skip' });
const Paused = waiting({ waitTimeout: '1 hour', onTimeout: 'pause' });

const RUNS = [
  'workflows_started_total',
  'workflows_finished_total',
  'workflows_cancelled_total',
  'workflows_paused_total',
];
const STEPS = 'workflow_steps_total';
const DURATIONS = 'workflow_step_duration_seconds_count';
const STALLS = 'workflow_stalls_total';
const LATE = 'workflow_wait_overdue_total';

describe('what the metrics count', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;
  const apps: MetricsApp[] = [];
  const boot = async (
    ...[providers, options]: [Parameters<typeof bootMetricsApp>[1], Parameters<typeof bootMetricsApp>[2]?]
  ) => {
    const app = await bootMetricsApp(suite, providers, options);
    apps.push(app);
    return app;
  };
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  test('MET-01 MET-02 MET-03 MET-18 each attempt, run and pause once, by body, guard, policy and verb; beside another application and subscribers that throw', async () => {
    const { workflows, scrape } = await boot([Scripted, Ways]);
    await boot([Scripted, Ways], { worker: false });
    const channels: WorkflowChannel[] = [
      'workflow.step',
      'workflow.started',
      'workflow.finished',
      'workflow.paused',
      'workflow.cancelled',
    ];
    const stops = channels.map((name) => onWorkflowMessage(name, () => { throw new Error('not listening') })); // prettier-ignore
    const calm = async (run: WorkflowHandle) => void (await until(run, 'finished', 'cancelled', 'paused'));

    await calm(await workflows.start(Scripted, script({})));
    await calm(await workflows.start(Scripted, script({ one: (ctx) => ctx.skip(), two: (ctx) => ctx.finish() })));
    await calm(await workflows.start(Scripted, script({ one: (ctx) => void (ctx.attempt < 3 && ctx.reattempt()), two: (ctx) => ctx.cancel() }))); // prettier-ignore
    const asked = await workflows.start(Scripted, script({ one: (ctx) => ctx.pause() }));
    await calm(asked);
    await asked.cancel();
    const at = held();
    const outside = await workflows.start(Scripted, script({ two: at.body }));
    await at.reached;
    await outside.pause();
    at.release();
    await eventually(
      async () => (await outside.steps()).length === 2 && (await outside.reload()).status === 'paused',
      'two has ended',
    );
    await outside.resume();
    await calm(outside);

    const first = await workflows.start(Scripted, { ...script({}), idempotencyKey: 'once' });
    const again = await workflows.start(Scripted, { ...script({}), idempotencyKey: 'once' });
    expect(again.duplicateStart).toBe(true);
    await calm(first);

    for (const way of ['guard', 'skipIf', 'cancels', 'skips', 'reattempts', 'pauses'] as const) {
      await calm(await workflows.start(Ways, { args: { way } }));
    }
    for (const stop of stops) stop();

    let series = await scrape();
    expect(linesOf(series, [STEPS, ...RUNS], 'Scripted')).toEqual([
      'workflow_steps_total outcome=cancelled step=two 1',
      'workflow_steps_total outcome=completed step=one 4',
      'workflow_steps_total outcome=completed step=three 3',
      'workflow_steps_total outcome=completed step=two 3',
      'workflow_steps_total outcome=finished step=two 1',
      'workflow_steps_total outcome=paused step=one 1',
      'workflow_steps_total outcome=reattempted step=one 2',
      'workflow_steps_total outcome=skipped step=one 1',
      'workflows_cancelled_total 2',
      'workflows_finished_total 4',
      'workflows_paused_total error_class=none 2',
      'workflows_started_total 6',
    ]);
    expect(linesOf(series, [STEPS, ...RUNS], 'Ways')).toEqual([
      'workflow_steps_total outcome=cancelled step=only 2',
      'workflow_steps_total outcome=paused step=only 2',
      'workflow_steps_total outcome=reattempted step=only 2',
      'workflow_steps_total outcome=skipped step=only 2',
      'workflows_cancelled_total 2',
      'workflows_finished_total 2',
      'workflows_paused_total error_class=Declined 1',
      'workflows_paused_total error_class=TypeError 1',
      'workflows_started_total 6',
    ]);
    // The histogram has as many as the counter, in each of its series.
    for (const workflow of ['Scripted', 'Ways']) {
      const counted = linesOf(series, [STEPS], workflow).map((line) => line.replace(STEPS, DURATIONS));
      expect(linesOf(series, [DURATIONS], workflow)).toEqual(counted);
    }

    // The newest application fed them; once it has closed, the one that is left does.
    await apps.pop()!.close();
    await calm(await workflows.start(Ways, { args: { way: 'skips' } }));
    series = await scrape();
    expect(linesOf(series, ['workflows_finished_total', 'workflows_started_total'], 'Ways')).toEqual([
      'workflows_finished_total 3',
      'workflows_started_total 7',
    ]);
  });

  test('MET-01 the time of an attempt is in the histogram, in seconds; a body that never began took none', async () => {
    const { workflows, scrape } = await boot([Scripted, Ways]);
    const before = await scrape();
    const at = held();
    const run = await workflows.start(Scripted, script({ one: at.body }));
    await at.reached;
    const asleep = workflows.start(Ways, { args: { way: 'guard' } });
    await eventually(async () => (await sql(`select from workflow_steps where status = 'in_progress' and started_at < statement_timestamp() - interval '30 ms'`)).length > 0, '30 ms have passed'); // prettier-ignore
    at.release();
    await until(run, 'finished');
    await until(await asleep, 'cancelled');
    const after = await scrape();
    const more = (key: string) => after.get(key)! - (before.get(key) ?? 0);
    const of = (labels: string) => `workflow_step_duration_seconds_sum{${labels}}`;
    const one = more(of('outcome="completed",step="one",workflow_class="Scripted"'));
    expect(one).toBeGreaterThan(0.02);
    expect(one).toBeLessThan(60);
    expect(more(of('outcome="cancelled",step="only",workflow_class="Ways"'))).toBe(0);
    const buckets = [...after.keys()].filter((key) => key.includes('_bucket') && key.includes('step="one"') && key.includes('outcome="completed"')); // prettier-ignore
    expect(buckets).toHaveLength(17);
  });

  test('MET-01 MET-02 MET-18 nothing that was rolled back is counted', async () => {
    const { workflows, scrape, dataSource } = await boot([Booking, Scripted]);
    const waits = await workflows.start(Scripted, script({ one: (ctx) => ctx.pause() }));
    await until(waits, 'paused');
    const names = [STEPS, ...RUNS];
    const before = linesOf(await scrape(), names, 'Scripted');
    const rolledBack = new Error('rolled back');
    await expect(
      dataSource.transaction(async (manager) => {
        await workflows.start(Scripted, { ...script({}), manager });
        await waits.cancel({ manager });
        throw rolledBack;
      }),
    ).rejects.toBe(rolledBack);
    expect(linesOf(await scrape(), names, 'Scripted')).toEqual(before);

    await until(await workflows.start(Booking, { args: { fails: true } }), 'paused');
    await until(await workflows.start(Booking, { args: { fails: false } }), 'finished');
    expect(linesOf(await scrape(), names, 'Booking')).toEqual([
      'workflow_steps_total outcome=completed step=book 1',
      'workflow_steps_total outcome=paused step=book 1',
      'workflows_finished_total 1',
      'workflows_paused_total error_class=Declined 1',
      'workflows_started_total 2',
    ]);
  });

  test('MET-14 what an alert is about stands at 0 before it happens: a burst that comes first has grown from something', async () => {
    const { scrape } = await boot([Scripted], { worker: false });
    const series = await scrape();
    for (const outcome of ['paused', 'reattempted']) {
      expect(series.get(`${STEPS}{outcome="${outcome}",step="two",workflow_class="Scripted"}`)).toBe(0);
    }
  });

  test('MET-02 MET-04 a stall is counted once, by how it was found, with the attempt and the end of its run', async () => {
    const app = await boot([Scripted], { stallAction: 'cancel', worker: { ...CLAIMS_NOTHING, lease: '1s' } });
    const { workflows, scrape } = app;
    const zeros = ['lease', 'sweep'].map(
      (detection) => `${STALLS}{detection="${detection}",step="two",workflow_class="Scripted"}`,
    );
    const atZero = async () => {
      const series = await scrape();
      return zeros.map((key) => series.get(key));
    };
    expect(await atZero()).toEqual([0, 0]);
    const lost = await workflows.start(Scripted, script({}));
    await leaveInProgress(sql, lost);
    await until(lost, 'cancelled');
    const hung = await workflows.start(Scripted, script({}));
    await leaveInProgress(sql, hung);
    await sql(
      `update workflow_steps set lease_expires_at = statement_timestamp() + interval '1 day' where workflow_id = $1`,
      [hung.id],
    );
    await startedAgo(sql, hung, '2 hours');
    await sweep(app);
    await until(hung, 'cancelled');
    const series = await scrape();
    expect(linesOf(series, [STALLS], 'Scripted')).toEqual([
      'workflow_stalls_total detection=lease step=one 1',
      'workflow_stalls_total detection=sweep step=one 1',
    ]);
    expect(await atZero()).toEqual([0, 0]);
    expect(linesOf(series, [STEPS], 'Scripted')).toContain('workflow_steps_total outcome=cancelled step=one 2');
  });

  test('MET-05 a notice is counted once, however many deadlines it is for; another time-out never is; 0 stands there before', async () => {
    const { workflows, scrape } = await boot([Notified, Skipped, Paused]);
    const run = await workflows.start(Notified);
    const others = [await workflows.start(Skipped), await workflows.start(Paused)];
    for (const one of [run, ...others]) await until(one, 'waiting');
    const key = `${LATE}{step="gate",workflow_class="${run.workflowName}"}`;
    expect((await scrape()).get(key)).toBe(0);
    for (const [count, ago] of [
      [1, '1 second'],
      [2, '3 hours 20 minutes'],
    ] as const) {
      // prettier-ignore
      await passDeadline(sql, run, ago);
      await eventually(async () => (await timeOuts(sql, run)).length === count, `notice ${count} is given`);
    }
    for (const one of others) await passDeadline(sql, one);
    await until(others[0], 'finished');
    await until(others[1], 'paused');
    const series = await scrape();
    expect([...series].filter(([name]) => name.startsWith(LATE))).toEqual([[key, 2]]);
    expect(linesOf(series, [STEPS, 'workflows_paused_total'], others[0].workflowName)).toEqual([
      'workflow_steps_total outcome=completed step=after 1',
      'workflow_steps_total outcome=skipped step=gate 1',
    ]);
    expect(linesOf(series, [STEPS, 'workflows_paused_total'], others[1].workflowName)).toEqual([
      'workflow_steps_total outcome=paused step=gate 1',
      'workflows_paused_total error_class=WaitTimedOutError 1',
    ]);
  });
});
