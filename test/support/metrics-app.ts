import type { AddressInfo } from 'node:net';
import type { INestApplication, Provider } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { WorkflowModule, WorkflowService, type WorkflowModuleOptions } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { WarningsOnly, type Suite, type TestApp } from './suite';

/** Series by their names and labels as Prometheus writes them, labels in the alphabet's order: `workflows{status="ready",workflow_class="Order"}`. */
export type Series = ReadonlyMap<string, number>;

/** An application whose `/metrics` a Prometheus could scrape. */
export interface MetricsApp extends Pick<TestApp, 'workflows' | 'dataSource' | 'close'> {
  readonly app: INestApplication;
  /** Host and port. */
  readonly address: string;
  /** What the endpoint answers, as it is. */
  readonly exposition: () => Promise<string>;
  readonly scrape: () => Promise<Series>;
}

/** Metrics in Prometheus are on, the gauges read every 20 ms, unless `options` say otherwise. Who boots it closes it. */
export async function bootMetricsApp(
  suite: Suite,
  providers: Provider[],
  options: WorkflowModuleOptions = {},
  prometheus: NonNullable<Parameters<typeof PrometheusModule.register>[0]> = {},
): Promise<MetricsApp> {
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, autoLoadEntities: true, retryAttempts: 0 }),
      PrometheusModule.register({ defaultMetrics: { enabled: false }, ...prometheus }),
      WorkflowModule.forRoot({
        errorReporter: { report: () => undefined },
        metrics: { gaugeInterval: 20 },
        ...options,
        ...(options.worker !== false && { worker: { pollInterval: 50, ...options.worker } }),
      }),
    ],
    providers,
  }).compile();
  const app = module.createNestApplication({ logger: new WarningsOnly() });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const address = `127.0.0.1:${port}`;
  const exposition = async () => {
    const response = await fetch(`http://${address}/metrics`);
    if (!response.ok) throw new Error(`GET /metrics: ${response.status}`);
    return response.text();
  };
  let closed: Promise<void> | undefined;
  return {
    app,
    workflows: app.get(WorkflowService),
    dataSource: app.get(DataSource),
    address,
    exposition,
    scrape: async () => seriesOf(await exposition()),
    close: () => (closed ??= app.close()),
  };
}

export function seriesOf(exposition: string): Series {
  const series = new Map<string, number>();
  for (const line of exposition.split('\n')) {
    const [, name, labels = '', value] = /^([a-z_:]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === undefined) continue;
    const pairs = labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? [];
    series.set(`${name}{${[...pairs].toSorted().join(',')}}`, Number(value));
  }
  return series;
}

/** The series of these metrics, one line each, those that read 0 left out: `workflows_paused_total error_class=none 2`. */
export function linesOf(series: Series, names: readonly string[], workflowClass: string): string[] {
  const lines: string[] = [];
  for (const [key, value] of series) {
    const [, name, labels] = /^(\w+)\{(.*)\}$/.exec(key)!;
    if (value === 0 || !names.includes(name) || !labels.includes(`workflow_class="${workflowClass}"`)) continue;
    const others = labels.split(',').filter((pair) => !pair.startsWith('workflow_class='));
    lines.push([name, ...others.map((pair) => pair.replaceAll('"', '')), value].join(' '));
  }
  return lines.toSorted();
}
