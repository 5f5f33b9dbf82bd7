import { readFileSync } from 'node:fs';
import path from 'node:path';
import { bootMetricsApp, type MetricsApp } from './support/metrics-app';
import { describeWithPrometheus, startPrometheus, type Prometheus } from './support/prometheus';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { passDeadline, waiting } from './support/waits';

const RULES = path.join(__dirname, '../libs/workflow/monitoring/alerts.rules.yml');
const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });

interface Alerts {
  readonly alerts: {
    readonly state: string;
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
  }[];
}

class Declined extends Error {
  override readonly name = 'Declined';
}

describeWithPrometheus('a Prometheus with the shipped rules', () => {
  const suite = workflowSuite();
  let app: MetricsApp | undefined;
  let prometheus: Prometheus | undefined;
  afterEach(async () => {
    await prometheus?.stop();
    await app?.close();
  });

  test('MET-14 scrapes an application, and fires when its step fails, a run is stuck and a wait is late; not before', async () => {
    app = await bootMetricsApp(suite, [Scripted, Notified]);
    // Minutes and hours are what promtool has tested: here the same rules are quick.
    const quick = readFileSync(RULES, 'utf8').replaceAll(/for: \d+[mh]/g, 'for: 1s');
    prometheus = await startPrometheus(app.address, quick);
    const alerts = async () => (await prometheus!.get<Alerts>('alerts')).alerts;
    const firing = async () =>
      (await alerts())
        .filter(({ state }) => state === 'firing')
        .map(({ labels: { alertname, workflow_class: of, step } }) => [alertname, of, step].filter(Boolean).join(' '))
        .toSorted();

    const sees = async (query: string) =>
      (await prometheus!.get<{ result: unknown[] }>(`query?query=${encodeURIComponent(query)}`)).result.length > 0;
    await suite.until(await app.workflows.start(Scripted, script({})), 'finished');
    const late = await app.workflows.start(Notified);
    await suite.until(late, 'waiting');
    await suite.eventually(
      async () =>
        (await sees('workflows_finished_total{workflow_class="Scripted"} == 1')) &&
        (await sees('workflow_wait_overdue_total == 0')) &&
        (await sees('workflows{status="waiting"} == 1')),
      'it has scraped what went well',
    );
    expect(await alerts()).toEqual([]);

    const broken = () => {
      throw new Declined();
    };
    // Two of them: a rate needs a series to grow.
    const run = await app.workflows.start(Scripted, script({ one: broken }));
    await suite.until(run, 'paused');
    await suite.eventually(() => sees('workflow_steps_total{outcome="paused"} == 1'), 'the first is scraped');
    await suite.until(await app.workflows.start(Scripted, script({ one: broken })), 'paused');
    await passDeadline(suite.sql, late);
    const expected = [
      'WorkflowStepFailing Scripted one',
      `WorkflowWaitOverdue ${late.workflowName} gate`,
      'WorkflowsStuck Scripted',
    ];
    await suite.eventually(
      async () => JSON.stringify(await firing()) === JSON.stringify(expected),
      `${expected.join(', ')} fire`,
    );
    // It may have begun to fire for the first of the two.
    const stuck = async () => (await alerts()).find(({ labels }) => labels.alertname === 'WorkflowsStuck');
    await suite.eventually(
      async () => (await stuck())?.annotations.summary === 'Scripted: 2 runs have been stuck for an hour',
      'the alert speaks of both runs',
    );
  });
});
