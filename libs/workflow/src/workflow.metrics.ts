import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { ENGINE_PARTS, type EngineParts } from './engine/engine.parts.js';
import { Gauges } from './insights/gauges.js';
import { readSnapshot } from './insights/snapshot.js';
import { isHeard, publish } from './observe/channels.js';
import { STEP_DURATION_BUCKETS } from './observe/metric-catalog.js';
import { feed, startAtZero, type MetricSink, type SinkKind } from './observe/metrics.js';
import type { MetricsSettings } from './observe/metrics-options.js';
import { openTelemetrySink, type OpenTelemetryApi } from './observe/opentelemetry.js';
import { ifThere, PEERS, required } from './observe/optional-peer.js';
import { prometheusSink, type NestPrometheus } from './observe/prometheus.js';
import { statsDSink } from './observe/statsd.js';
import type { Connection } from './store/connection.js';
import { inTime } from './worker/in-time.js';
import { messageOf } from './worker/message-of.js';
import { monotonic } from './worker/monotonic.js';
import { schedulerRegistry } from './worker/scheduler.js';

const GAUGES_NAME = 'workflow-gauges';
/** Reading the gauges takes at most one part in so many of the time. */
const GAUGES_FOR_TIMES = 50;
/** A stop waits so long for gauges that are being read. */
const STOP_MS = 1_000;

/** Feeds the backends that the option `metrics` names with what is told on the channels, and reads the gauges. */
@Injectable()
export class WorkflowMetrics
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly logger = new Logger('Workflow');
  private sinks: readonly MetricSink[] = [];
  private stops: readonly (() => void)[] = [];
  private scheduler: SchedulerRegistry | undefined;
  private gauges: Gauges | undefined;
  private stopped = false;
  private reading: Promise<void> | undefined;
  private readBy: Connection | undefined;
  /** When they may be read again (`monotonic()`). */
  private dueAt = -Infinity;
  /** Milliseconds that the last reading took. */
  private took = Infinity;
  private failing = false;

  constructor(
    @Inject(ENGINE_PARTS) private readonly parts: EngineParts,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** Before anything is started or claimed. */
  onModuleInit(): void {
    const { metrics } = this.parts.settings;
    if (!metrics) return;
    const made = this.sinksOf(metrics);
    this.sinks = made.map(([, sink]) => sink);
    this.stops = made.map(([kind, sink]) => feed(kind, sink));
  }

  onApplicationBootstrap(): void {
    const { settings, registry } = this.parts;
    if (!settings.metrics) return;
    const definitions = registry.all().map(({ definition }) => definition);
    for (const sink of this.sinks) startAtZero(sink, definitions);
    const { gaugeInterval } = settings.metrics;
    if (gaugeInterval === null) return;
    const queues = (settings.worker && settings.worker.queues) || [settings.queue];
    this.gauges = new Gauges(settings, { classes: definitions.map(({ name }) => name), queues });
    this.scheduler = schedulerRegistry(this.moduleRef);
    const interval = setInterval(() => void this.readGauges(), gaugeInterval);
    this.scheduler.addInterval(GAUGES_NAME, interval.unref());
    void this.readGauges();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    if (this.scheduler?.doesExist('interval', GAUGES_NAME)) this.scheduler.deleteInterval(GAUGES_NAME);
    if (this.reading && !(await inTime(this.reading, STOP_MS))) this.readBy?.cut();
  }

  /** Not sooner: while the worker stops, the bodies at work come to their ends, and these count. */
  beforeApplicationShutdown(): void {
    for (const stop of this.stops) stop();
  }

  /** Reads and tells them when it is time; whoever looks at them meanwhile sees those of the last time. */
  private async readGauges(): Promise<void> {
    const { database } = this.parts;
    const begun = monotonic();
    if (this.reading || this.stopped || begun < this.dueAt || !isHeard('workflow.gauge')) return;
    if (!database.dataSource.isInitialized) return;
    this.reading = this.readAndTell()
      .catch((error: unknown) => this.tellFailure(error))
      .finally(() => {
        const now = monotonic();
        // The shorter of two: one that waited for a lock says nothing of what they cost.
        this.dueAt = now + Math.min(this.took, now - begun) * GAUGES_FOR_TIMES;
        this.took = now - begun;
        this.reading = undefined;
        this.readBy = undefined;
      });
    await this.reading;
  }

  private async readAndTell(): Promise<void> {
    const read = await readSnapshot(this.parts.database, (connection) => {
      this.readBy = connection;
      return this.gauges!.read(connection);
    });
    this.failing = false;
    if (!this.stopped) for (const gauge of read) publish('workflow.gauge', gauge);
  }

  private tellFailure(error: unknown): void {
    if (this.stopped || this.failing) return;
    this.failing = true;
    this.logger.warn(`The gauges could not be read; until they can be, they keep their numbers: ${messageOf(error)}`);
  }

  private sinksOf(settings: MetricsSettings): [SinkKind, MetricSink][] {
    const { statsd, openTelemetry } = settings;
    const buckets = settings.buckets ?? STEP_DURATION_BUCKETS;
    const prometheus = nestPrometheus(settings);
    const sinks: [SinkKind, MetricSink][] = [];
    if (prometheus) sinks.push(['prometheus', prometheusSink(prometheus, buckets, this.find)]);
    if (statsd) sinks.push(['statsd', statsDSink(statsd)]);
    if (openTelemetry) {
      const api = required<OpenTelemetryApi>(PEERS.openTelemetry(), '@opentelemetry/api', 'metrics.openTelemetry');
      sinks.push(['opentelemetry', openTelemetrySink(api, openTelemetry, buckets)]);
    }
    return sinks;
  }

  /** A provider of the application's, in whichever module. */
  private readonly find = (token: Parameters<ModuleRef['get']>[0]): unknown => {
    try {
      return this.moduleRef.get<unknown>(token, { strict: false });
    } catch {
      return undefined;
    }
  };
}

function nestPrometheus({ prometheus }: MetricsSettings): NestPrometheus | null {
  if (prometheus === false) return null;
  if (prometheus === 'if there') return ifThere<NestPrometheus>(PEERS.prometheus());
  return required(PEERS.prometheus(), '@willsoto/nestjs-prometheus prom-client', 'metrics.prometheus');
}
