import type { Duration } from '../definition/duration.js';

/** Where what happens is counted: the option `metrics` of `WorkflowModule.forRoot()`. */
export interface MetricsOptions {
  /**
   * The default registry of `prom-client`, by way of `@willsoto/nestjs-prometheus`: the application's own endpoint shows our metrics, with its prefix and
   * default labels. Default: when both can be loaded. True: they must be, else the boot fails. An object: true, with its settings.
   */
  prometheus?: boolean | PrometheusMetricsOptions;
  /** A StatsD client of the application's, such as `new StatsD()` of `hot-shots`, with its prefix and tags. Closing it is the application's. */
  statsd?: StatsDClient;
  /** Metrics and a span for each attempt, by `@opentelemetry/api`. True: both, of the SDK that is registered globally. Default false. */
  openTelemetry?: boolean | OpenTelemetryOptions;
  /**
   * How often the gauges are read from the tables, and at most a fiftieth of the time. Default `'10s'`. Null: never in this process. All processes read
   * the same numbers, so in a large fleet a few may do it for all.
   */
  gaugeInterval?: Duration | null;
}

/** Settings of the metrics in Prometheus. */
export interface PrometheusMetricsOptions {
  /** Upper bounds of `workflow_step_duration_seconds`, ascending, in seconds. Default: 16 from 5 ms to an hour. */
  buckets?: readonly number[];
}

/** What is told to OpenTelemetry, and by way of whom. */
export interface OpenTelemetryOptions {
  /** Default true. */
  metrics?: boolean;
  /** Default true. */
  traces?: boolean;
  /** Default: the global one. */
  meterProvider?: {
    /**
     * The meter of a library.
     *
     * @param name this package's
     * @param version this package's
     */
    getMeter(name: string, version?: string): object;
  };
  /** Default: the global one. */
  tracerProvider?: {
    /**
     * The tracer of a library.
     *
     * @param name this package's
     * @param version this package's
     */
    getTracer(name: string, version?: string): object;
  };
}

/** What is used of a StatsD client; that of `hot-shots` has it. */
export interface StatsDClient {
  /**
   * Adds to a counter.
   *
   * @param name of the metric
   * @param value how much to add
   * @param tags its labels
   */
  increment(name: string, value: number, tags: Record<string, string>): unknown;
  /**
   * Records a duration, in milliseconds.
   *
   * @param name of the metric
   * @param milliseconds the duration
   * @param tags its labels
   */
  timing(name: string, milliseconds: number, tags: Record<string, string>): unknown;
  /**
   * Sets a gauge.
   *
   * @param name of the metric
   * @param value what it is now
   * @param tags its labels
   */
  gauge(name: string, value: number, tags: Record<string, string>): unknown;
}

/** Checked and complete. */
export interface MetricsSettings {
  /** `if there`: when its packages can be loaded. */
  readonly prometheus: boolean | 'if there';
  /** Null: the default. */
  readonly buckets: readonly number[] | null;
  readonly statsd: StatsDClient | null;
  readonly openTelemetry: OpenTelemetryOptions | false;
  /** Milliseconds. */
  readonly gaugeInterval: number | null;
}
