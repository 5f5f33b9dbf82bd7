import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { MeterProvider, InMemoryMetricExporter, AggregationTemporality, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'; // prettier-ignore
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { StatsD } from 'hot-shots';
import { WorkflowConfigurationError, WorkflowModule, type WorkflowModuleOptions } from 'nestjs-pg-workflows';
import { COUNTERS, GAUGES, STEP_DURATION } from '../libs/workflow/src/observe/metric-catalog';
import { bootMetricsApp, seriesOf, type MetricsApp } from './support/metrics-app';
import { refusedBoot } from './support/refused-boot';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { passDeadline, waiting } from './support/waits';

class Declined extends Error {
  override readonly name = 'Declined';
}

const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });

describe('backends', () => {
  const suite = workflowSuite();
  const { until, eventually } = suite;
  const apps: MetricsApp[] = [];
  const boot = async (options: WorkflowModuleOptions, prometheus?: Parameters<typeof bootMetricsApp>[3]) => {
    const app = await bootMetricsApp(suite, [Scripted, Notified], options, prometheus);
    apps.push(app);
    return app;
  };
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  /** A run whose first step is tried twice, then fails; another that waits, and is told to be late. */
  async function happen({ workflows }: MetricsApp): Promise<string> {
    const run = await workflows.start(
      Scripted,
      script({
        one: (ctx) => void (ctx.attempt === 1 && ctx.reattempt()),
        two: () => {
          throw new Declined();
        },
      }),
    );
    await until(run, 'paused');
    const late = await workflows.start(Notified);
    await until(late, 'waiting');
    await passDeadline(suite.sql, late);
    return run.id;
  }

  describe('StatsD', () => {
    let server: Socket;
    let client: StatsD;
    const received: string[] = [];

    beforeAll(async () => {
      server = createSocket('udp4');
      server.on('message', (packet) => received.push(...packet.toString().split('\n').filter(Boolean)));
      server.bind(0, '127.0.0.1');
      await once(server, 'listening');
      client = new StatsD({ host: '127.0.0.1', port: server.address().port, prefix: 'shop.', bufferFlushInterval: 10 });
    });
    afterAll(async () => {
      await new Promise((resolve) => client.close(resolve));
      server.close();
    });

    test('MET-07 gets the names and labels of the others, and the time of a step in milliseconds', async () => {
      const app = await boot({ metrics: { prometheus: false, statsd: client, gaugeInterval: 20 } });
      await happen(app);
      const stuck = /^shop\.workflows_stuck:1\|g\|#.*reason:paused_error/;
      await eventually(
        () => received.some((line) => stuck.test(line)) && received.some((line) => line.includes('wait_overdue')),
        'the gauges and the notice have come',
      );
      const counted = received.filter((line) => /\|c\|/.test(line));
      const waits = counted.filter((line) => line.includes('wait_overdue'));
      expect(counted.filter((line) => line.includes(':Scripted')).toSorted()).toEqual([
        'shop.workflow_steps_total:1|c|#workflow_class:Scripted,step:one,outcome:completed',
        'shop.workflow_steps_total:1|c|#workflow_class:Scripted,step:one,outcome:reattempted',
        'shop.workflow_steps_total:1|c|#workflow_class:Scripted,step:two,outcome:paused',
        'shop.workflows_paused_total:1|c|#workflow_class:Scripted,error_class:Declined',
        'shop.workflows_started_total:1|c|#workflow_class:Scripted',
      ]);
      expect(waits).toEqual([
        expect.stringMatching(/^shop\.workflow_wait_overdue_total:1\|c\|#workflow_class:Waiting.*,step:gate$/),
      ]);
      const timed = received.filter((line) => /\|ms\|/.test(line));
      expect(timed).toHaveLength(3);
      for (const line of timed) expect(line).toMatch(/^shop\.workflow_step_duration_ms:[\d.]+\|ms\|#workflow_class:Scripted,step:(one|two),outcome:\w+$/); // prettier-ignore
      const names = new Set(received.map((line) => /^shop\.(\w+):/.exec(line)![1]));
      for (const name of Object.keys(GAUGES)) expect(names).toContain(name);
      expect([...names].filter((name) => name.includes('seconds'))).toEqual(['workflow_queue_oldest_due_seconds']);
    });

    test('MET-07 a client of an application that has closed is told nothing more; two clients in one process do not both count', async () => {
      const other: string[] = [];
      const note = (name: string) => void other.push(name);
      const first = await boot({ metrics: { prometheus: false, statsd: client, gaugeInterval: null } });
      const second = await boot({ worker: false, metrics: { prometheus: false, statsd: { increment: note, timing: note, gauge: note }, gaugeInterval: null } }); // prettier-ignore
      received.length = 0;
      await until(await first.workflows.start(Scripted, script({})), 'finished');
      expect(other.toSorted()).toEqual([...Array(3).fill('workflow_step_duration_ms'), ...Array(3).fill('workflow_steps_total'), 'workflows_finished_total', 'workflows_started_total']); // prettier-ignore
      await second.close();
      other.length = 0;
      await until(await first.workflows.start(Scripted, script({})), 'finished');
      expect(other).toEqual([]);
      await eventually(() => received.length >= 8, 'the first is told again');
      expect(received).toHaveLength(8);
    });
  });

  test('MET-07 OpenTelemetry gets the same names, labels and values as Prometheus, and a span for each attempt in the trace of its run', async () => {
    const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 86_400_000 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const spans = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
    const app = await boot({
      metrics: { prometheus: true, openTelemetry: { meterProvider, tracerProvider }, gaugeInterval: 20 },
    });
    const before = Date.now();
    const id = await happen(app);
    await eventually(async () => {
      const values = [...(await app.scrape())];
      return values.some(([key, value]) => /^workflows_stuck\{.*paused_error/.test(key) && value === 1) && values.some(([key, value]) => key.startsWith('workflow_wait_overdue') && value === 1); // prettier-ignore
    }, 'all of it is counted');
    const prometheus = await app.scrape();
    await reader.forceFlush();
    const told = metrics
      .getMetrics()
      .at(-1)!
      .scopeMetrics.flatMap((scope) => scope.metrics);
    expect(new Set(told.map(({ descriptor }) => descriptor.name))).toEqual(
      new Set([...Object.values(COUNTERS), STEP_DURATION, ...Object.values(GAUGES)].map(({ name }) => name)),
    );
    const keyOf = (name: string, labels: object) => `${name}{${Object.entries(labels).map(([label, value]) => `${label}="${value}"`).toSorted().join(',')}}`; // prettier-ignore
    const points = told.flatMap(({ descriptor: { name }, dataPoints }) =>
      dataPoints.map(({ attributes, value }) =>
        typeof value === 'number'
          ? ([keyOf(name, attributes), value] as const)
          : ([keyOf(`${name}_count`, attributes), (value as { count: number }).count] as const),
      ),
    );
    // Gauges go on while they are compared: that they are the same is for the counters, the count of times, and the names.
    const still = (key: string) => /_(total|count)\{/.test(key);
    expect(new Map(points.filter(([key]) => still(key)))).toEqual(
      new Map([...prometheus].filter(([key]) => still(key))),
    );
    expect(new Set(points.map(([key]) => key))).toEqual(
      new Set([...prometheus.keys()].filter((key) => !/_seconds_(sum|bucket)\{/.test(key))),
    );

    const ours = spans.getFinishedSpans().filter(({ attributes }) => attributes['workflow.id'] === id);
    expect(ours.map(({ name, attributes, status }) => [name, attributes, status])).toEqual(
      (
        [
          ['one', 1, 'reattempted'],
          ['one', 2, 'completed'],
          ['two', 1, 'paused', 'Declined'],
        ] as const
      ).map(([step, attempt, outcome, error]) => [
        // prettier-ignore
        `Scripted ${step}`,
        {
          'workflow.class': 'Scripted',
          'workflow.id': id,
          'workflow.step': step,
          'workflow.attempt': attempt,
          'workflow.outcome': outcome,
          ...(error && { 'error.type': error }),
        },
        error ? { code: 2, message: error } : { code: 0 },
      ]),
    );
    expect(new Set(ours.map((span) => span.spanContext().traceId))).toEqual(new Set([id.replaceAll('-', '')]));
    expect(new Set(ours.map((span) => span.spanContext().spanId)).size).toBe(3);
    for (const { startTime, endTime } of ours) {
      expect(startTime[0] * 1_000 + startTime[1] / 1e6).toBeGreaterThan(before - 1_000);
      expect(endTime[0] * 1e9 + endTime[1]).toBeGreaterThanOrEqual(startTime[0] * 1e9 + startTime[1]);
    }
    await apps.pop()!.close();
    await Promise.all([meterProvider.shutdown(), tracerProvider.shutdown()]);
  });

  test("MET-01 the application's prefix and default labels count, of a PrometheusModule that is not global; and its buckets", async () => {
    const app = await boot(
      { metrics: { prometheus: { buckets: [0.5, 60] } } },
      { customMetricPrefix: 'shop', defaultLabels: { app: 'web' } },
    );
    await until(await app.workflows.start(Scripted, script({})), 'finished');
    const series = seriesOf(await app.exposition());
    expect(series.get('shop_workflows_finished_total{app="web",workflow_class="Scripted"}')).toBe(1);
    const buckets = [...series.keys()].filter((key) =>
      /^shop_workflow_step_duration_seconds_bucket.*step="one"/.test(key),
    );
    expect(buckets.map((key) => /le="(.*?)"/.exec(key)![1])).toEqual(['0.5', '60', '+Inf']);
  });

  test('MET-01 a registry that has another metric of a name is refused at the boot; metrics: false counts nothing, also from forRootAsync', async () => {
    const { Gauge, register } = await import('prom-client');
    register.clear();
    register.registerMetric(
      new Gauge({ name: 'workflows', help: 'of the application', labelNames: ['color'], registers: [] }),
    );
    const error = await refusedBoot({ url: suite.database.url, options: { worker: false } });
    expect(error).toBeInstanceOf(WorkflowConfigurationError);
    expect(error.message).toMatch(
      /has a metric "workflows" already, and not ours \(its labels: color; ours: workflow_class, status\).*customMetricPrefix.*prometheus: false/,
    );

    register.clear();
    const booted = await suite.boot([], {
      worker: false,
      metrics: false,
    });
    await booted.close();
    expect(register.getMetricsAsArray()).toEqual([]);
    const asynchronous = await refusedBoot({
      url: suite.database.url,
      options: null,
      imports: [
        WorkflowModule.forRootAsync({
          useFactory: () => ({ worker: false as const, metrics: { statsd: {} as never } }),
        }),
      ],
    });
    expect(asynchronous.message).toBe('WorkflowModule: "metrics.statsd" is an object; allowed: an object with increment(), timing(), gauge().'); // prettier-ignore
  });
});
