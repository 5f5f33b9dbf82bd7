import { randomUUID } from 'node:crypto';
import { onWorkflowMessage, Step, Workflow, WorkflowOf, type WorkflowGaugeMessage } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { GAUGES } from '../libs/workflow/src/observe/metric-catalog';
import { captureLog } from './support/log';
import { fanning, fanScript, Task } from './support/fan';
import { bootMetricsApp, linesOf, type MetricsApp, type Series } from './support/metrics-app';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { waiting } from './support/waits';

const Waits = waiting();
const Crowd = fanning('Crowd');

/** Nobody serves its queue. */
@Workflow({ jobOptions: { queue: 'unserved' } })
class Unserved extends WorkflowOf<null, { wait: boolean }> {
  @Step()
  async only() {}
}

const NAMES = Object.keys(GAUGES);
const READERS = `
  select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%signal_waits%'`;
const UNREAD = /The gauges could not be read/;

describe('gauges', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;
  const apps: MetricsApp[] = [];
  const boot: (
    ...of: Parameters<typeof bootMetricsApp> extends [any, ...infer Rest] ? Rest : never
  ) => Promise<MetricsApp> = async (...of) => {
    const app = await bootMetricsApp(suite, ...of);
    apps.push(app);
    return app;
  };
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  const runsOf = (series: Series, workflow: string) => linesOf(series, NAMES, workflow);
  const untilRuns = ({ scrape }: MetricsApp, workflow: string, expected: string[]) =>
    eventually(
      async () => JSON.stringify(runsOf(await scrape(), workflow)) === JSON.stringify(expected),
      `${workflow} reads ${expected.join(', ') || '0'}`,
    );

  test('MET-06 runs by class and status, as the tables have them: paused ones by that, whatever their step does; what fell to nothing reads 0', async () => {
    const app = await boot([Scripted, Waits, Crowd, Task]);
    const { workflows, scrape } = app;
    const bodies = [held(), held(), held()];
    const atWork = [];
    for (const { body, reached } of bodies) {
      atWork.push(await workflows.start(Scripted, script({ one: body })));
      await reached;
    }
    const [, caught] = atWork;
    await caught.pause();
    const later = await workflows.start(Scripted, script({ one: (ctx) => void (ctx.attempt === 1 && ctx.reattempt({ wait: '1 hour' })) })); // prettier-ignore
    await eventually(async () => (await later.steps()).length === 2, 'it is scheduled again');
    const parked = [await workflows.start(Waits), await workflows.start(Waits)];
    for (const run of parked) await until(run, 'waiting');
    await parked[0].pause();
    const end = held();
    const crowd = await workflows.start(Crowd, fanScript({ task: () => end.body(undefined as never) }));
    await until(crowd, 'waiting');

    await untilRuns(app, 'Scripted', [
      'workflows status=paused 1',
      'workflows status=performing 2',
      'workflows status=ready 1',
      'workflows_stuck reason=paused_manual 1',
    ]);
    await untilRuns(app, parked[0].workflowName, [
      'workflows status=paused 1',
      'workflows status=waiting 1',
      'workflows_stuck reason=paused_manual 1',
    ]);
    await untilRuns(app, 'Crowd', ['workflows status=waiting 1']);
    const asStored = await sql<{ line: string }>(
      `select format('%s %s %s', workflow_class, status, count(*)) as line from workflows
       where ended_at is null group by workflow_class, status order by 1`,
    );
    const told = [...(await scrape())].filter(([key, value]) => key.startsWith('workflows{') && value > 0);
    expect(
      told
        .map(([key, value]) => key.replace(/workflows\{status="(\w+)",workflow_class="(.*)"\}/, `$2 $1 ${value}`))
        .toSorted(),
    ).toEqual(asStored.map(({ line }) => line));

    for (const { release } of bodies) release();
    end.release();
    for (const run of [...atWork, later, ...parked]) await run.cancel().catch(() => undefined);
    await untilRuns(app, 'Scripted', []);
    await untilRuns(app, parked[0].workflowName, []);
    await untilRuns(app, 'Crowd', []);
    const series = await scrape();
    expect(series.get('workflows{status="performing",workflow_class="Scripted"}')).toBe(0);
    expect(series.get('workflows_stuck{reason="paused_manual",workflow_class="Scripted"}')).toBe(0);
  });

  test('MET-06 MET-20 a class and a queue that no process here has are told too, and read 0 once they are gone', async () => {
    const app = await boot([Scripted]);
    const id = randomUUID();
    await sql(
      `with run as (
         insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
         values ($1, 'Elsewhere', '{}', 'ready', 'one', '') returning id)
       insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, available_at)
       select id, 'Elsewhere', 'one', 1, 'scheduled', 'far', at, at from run, lateral (select statement_timestamp() - interval '2 hours' as at) due`,
      [id],
    );
    await untilRuns(app, 'Elsewhere', ['workflows status=ready 1', 'workflows_stuck reason=overdue 1']);
    const series = await app.scrape();
    expect(series.get('workflow_queue_depth{queue="far"}')).toBe(1);
    expect(series.get('workflow_queue_oldest_due_seconds{queue="far"}')).toBeGreaterThanOrEqual(7_200);
    expect(series.get('workflow_queue_oldest_due_seconds{queue="far"}')).toBeLessThan(7_300);
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
    await eventually(
      async () => (await app.scrape()).get('workflow_queue_depth{queue="far"}') === 0,
      'the queue reads 0',
    );
    await untilRuns(app, 'Elsewhere', []);
    expect((await app.scrape()).get('workflows{status="ready",workflow_class="Elsewhere"}')).toBe(0);
  });

  test('MET-20 the depth of a queue is what is due and not taken: steps and members, not what is due later, paused or in progress', async () => {
    const app = await boot([Unserved, Crowd, Task], { worker: { queues: ['default'] } });
    const { workflows, scrape } = app;
    const depth = async (queue: string) => (await scrape()).get(`workflow_queue_depth{queue="${queue}"}`);
    expect(await depth('default')).toBe(0);
    const due = [];
    for (let n = 0; n < 4; n += 1) due.push(await workflows.start(Unserved, { args: { wait: false } }));
    await due[0].pause();
    await due[1].reschedule(new Date(Date.now() + 3_600_000));
    const crowd = await workflows.start(Crowd, fanScript({ fan: (ctx, batch) => { for (let n = 0; n < 3; n += 1) batch.add(Task, { script: ctx.args.script, n }, { queue: 'unserved' }); } })); // prettier-ignore
    await until(crowd, 'waiting');
    await eventually(async () => (await depth('unserved')) === 5, 'two steps and three members are due');
    expect((await scrape()).get('workflow_queue_oldest_due_seconds{queue="unserved"}')).toBeGreaterThan(0);
  });

  test('MET-18 workflow.gauge tells each of them at each reading, without any backend; one process may leave them to others', async () => {
    const heard: WorkflowGaugeMessage[] = [];
    const stop = onWorkflowMessage('workflow.gauge', (message) => heard.push(message));
    const quiet = await boot([Scripted], { metrics: { gaugeInterval: null } });
    await until(await quiet.workflows.start(Scripted, script({ one: (ctx) => ctx.pause() })), 'paused');
    await boot([Waits], { metrics: { prometheus: false, gaugeInterval: 20 } });
    const of = (name: string) =>
      heard.filter((one) => one.name === name && one.labels.workflow_class === 'Scripted' && one.value === 1);
    await eventually(() => of('workflows').length >= 2 && of('workflows_stuck').length >= 2, 'it was told twice');
    stop();
    expect(of('workflows')[0]).toEqual({
      name: 'workflows',
      labels: { workflow_class: 'Scripted', status: 'paused' },
      value: 1,
    });
    expect(new Set(heard.map(({ name }) => name))).toEqual(new Set(NAMES));
  });

  test('MET-06 what cannot be read keeps its number and is said once; a scrape waits for no reading', async () => {
    const log = captureLog();
    const app = await boot([Scripted], { worker: false });
    const run = await app.workflows.start(Scripted, script({}));
    await run.pause();
    const expected = ['workflows status=paused 1', 'workflows_stuck reason=paused_manual 1'];
    await untilRuns(app, 'Scripted', expected);

    await sql('alter table workflow_steps rename column member_index to hidden');
    await eventually(() => log.saying(UNREAD).length > 0, 'it is said');
    expect(runsOf(await app.scrape(), 'Scripted')).toEqual(expected);
    await sql('alter table workflow_steps rename column hidden to member_index');

    const own = await new DataSource({ type: 'postgres', url: suite.database.url }).initialize();
    await own.transaction(async (manager) => {
      await manager.query('lock table workflow_steps in access exclusive mode');
      await eventually(async () => (await sql(READERS)).length > 0, 'a reading waits for the table');
      expect(runsOf(await app.scrape(), 'Scripted')).toEqual(expected);
    });
    await own.destroy();

    await run.cancel();
    await untilRuns(app, 'Scripted', []);
    expect(log.saying(UNREAD)).toHaveLength(1);
  });
});
