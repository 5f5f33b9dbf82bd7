import type { EntityManager } from 'typeorm';
import type { WorkflowAdminOptions } from './admin/admin.options.js';
import type { Duration } from './definition/duration.js';
import { WorkflowConfigurationError } from './errors.js';
import type { ErrorReporter } from './observe/error-reporter.js';
import type { MetricsOptions, MetricsSettings, OpenTelemetryOptions, StatsDClient } from './observe/metrics-options.js';
import { isObject, LONGEST_TIMER, OptionChecks, shown } from './workflow.option-checks.js';

/** What to do with a step that was declared stalled. */
export type StallAction = 'pause' | 'reattempt' | 'cancel';

/** How this process executes steps. */
export interface WorkerOptions {
  /** Which queues it serves. Default: all. */
  queues?: readonly string[];
  /** Steps in progress at once in this process. Default 50. */
  concurrency?: number;
  /** How often it looks for due steps when no notification comes. Default `'1s'`. */
  pollInterval?: Duration;
  /** A worker silent for this long is dead. Default `'8s'`. */
  lease?: Duration;
  /**
   * LISTEN/NOTIFY on a connection of its own. Default true. `false`: polling alone. A URL: listens over that direct
   * connection, when the application's own goes through a transaction pooler.
   */
  listen?: boolean | string;
  /** Connections of the pool that the engine may hold at once; always fewer than the pool has. Default: half the pool, at least 1. */
  connections?: number;
  /** How long a stop waits for running steps. Default `'25s'`. */
  shutdownGrace?: Duration;
}

/** Settings of `WorkflowModule.forRoot()`. A duration is a number of milliseconds or text such as `'2 days'`. */
export interface WorkflowModuleOptions {
  /** The TypeORM DataSource with the workflow tables. Default: the application's default one. */
  connection?: string;
  /** Queue of a step that names none. Default `'default'`. */
  queue?: string;
  /** Ended runs are kept this long; null keeps them. Default `'30d'`. */
  retention?: Duration | null;
  /** How often the sweep runs. Default `'5m'`. */
  sweepInterval?: Duration;
  /** A step in progress for longer is stalled, a due one that nobody took is overdue. Default `'1h'`. */
  stallThreshold?: Duration;
  /** Default `'pause'`. */
  stallAction?: StallAction;
  /** Bytes, as stored: arguments, each output, each signal's payload. Default 131,072. */
  maxPayloadSize?: number;
  /** Lines of backtrace kept on a failed attempt. Default 50. */
  errorBacktraceLines?: number;
  /** A wait without a deadline that is this old counts as stuck. Default `'7d'`. */
  waitingVisibilityThreshold?: Duration;
  /** Bounds guards, gate and matchers of one claim. Default `'30s'`. */
  guardTimeout?: Duration;
  /** Stored on each attempt. Default: `APP_REVISION`, `GIT_SHA`, `GIT_COMMIT`, `SOURCE_VERSION` or `HEROKU_SLUG_COMMIT` of the environment. */
  appRevision?: string;
  /** False: this process starts and administers runs, and executes none. */
  worker?: WorkerOptions | false;
  /**
   * Mounts a ready-made health check at this path: `'workflows/health'` is `GET /workflows/health`, answered by `@nestjs/terminus` (install it). It is not behind
   * a guard: probes send no credentials, and it tells counts, ages and run ids only. Default: none; `WorkflowHealthIndicator` is there for your own.
   */
  healthPath?: string;
  /** Imports `WorkflowAdminModule` with these options. Default: no API. */
  admin?: WorkflowAdminOptions;
  /** The ambient transaction of nestjs-cls, typeorm-transactional or the like, joined where no `manager` is given. */
  transaction?: () => EntityManager | undefined;
  /** Is told of each failed attempt. Default: Nest's logger. */
  errorReporter?: ErrorReporter;
  /** Where what happens is counted. Default: Prometheus, when `@willsoto/nestjs-prometheus` and `prom-client` are installed. False: nowhere. */
  metrics?: MetricsOptions | false;
}

/** Checked and complete. Durations are in milliseconds. */
export interface WorkflowSettings {
  readonly connection: string | undefined;
  readonly queue: string;
  readonly retention: number | null;
  readonly sweepInterval: number;
  readonly stallThreshold: number;
  readonly stallAction: StallAction;
  readonly maxPayloadSize: number;
  readonly errorBacktraceLines: number;
  readonly waitingVisibilityThreshold: number;
  readonly guardTimeout: number;
  readonly appRevision: string | null;
  readonly worker: WorkerSettings | false;
  readonly healthPath: string | undefined;
  readonly admin: WorkflowAdminOptions | undefined;
  readonly transaction: (() => EntityManager | undefined) | undefined;
  readonly errorReporter: ErrorReporter | undefined;
  readonly metrics: MetricsSettings | false;
}

export interface WorkerSettings {
  /** Null: all. */
  readonly queues: readonly string[] | null;
  readonly concurrency: number;
  readonly pollInterval: number;
  readonly lease: number;
  readonly listen: boolean | string;
  /** Null: half the pool. */
  readonly connections: number | null;
  readonly shutdownGrace: number;
}

/** Injection token of the checked settings. */
export const WORKFLOW_SETTINGS = Symbol('WORKFLOW_SETTINGS');

const REVISION_VARIABLES = ['APP_REVISION', 'GIT_SHA', 'GIT_COMMIT', 'SOURCE_VERSION', 'HEROKU_SLUG_COMMIT'];

/**
 * Checks the settings and fills in the defaults.
 *
 * @throws WorkflowConfigurationError naming the option, the value given and what is allowed
 */
export function settingsOf(options: WorkflowModuleOptions = {}): WorkflowSettings {
  assertOptions(options);
  const check = new OptionChecks(options as Record<string, unknown>, '');
  const settings: WorkflowSettings = {
    connection: check.optional('connection', check.name),
    queue: check.optional('queue', check.name) ?? 'default',
    retention: options.retention === null ? null : check.duration('retention', '30d', 1),
    sweepInterval: check.duration('sweepInterval', '5m', 1, LONGEST_TIMER),
    stallThreshold: check.duration('stallThreshold', '1h', 1),
    stallAction: check.oneOf('stallAction', ['pause', 'reattempt', 'cancel'], 'pause'),
    maxPayloadSize: check.whole('maxPayloadSize', 131_072, 2),
    errorBacktraceLines: check.whole('errorBacktraceLines', 50, 0),
    waitingVisibilityThreshold: check.duration('waitingVisibilityThreshold', '7d', 1),
    guardTimeout: check.duration('guardTimeout', '30s', 1, LONGEST_TIMER),
    appRevision: check.optional('appRevision', check.text) ?? revisionOf(process.env),
    worker: workerOf(check, options.worker),
    healthPath: check.optional('healthPath', check.path),
    // Checked by the module it is for.
    admin: options.admin,
    transaction: check.optional('transaction', check.callable) as WorkflowSettings['transaction'],
    errorReporter: check.optional('errorReporter', check.reporter) as ErrorReporter | undefined,
    metrics: metricsOf(check, options.metrics),
  };
  check.nothingElse(KEYS);
  return settings;
}

/** @throws WorkflowConfigurationError for options that are no object: a factory without `return`, for one */
export function assertOptions(options: unknown): asserts options is WorkflowModuleOptions {
  if (isObject(options)) return;
  throw new WorkflowConfigurationError(
    `WorkflowModule: the options are ${shown(options)}; allowed: an object of settings.`,
  );
}

const KEYS = [
  'connection', 'queue', 'retention', 'sweepInterval', 'stallThreshold', 'stallAction', 'maxPayloadSize',
  'errorBacktraceLines', 'waitingVisibilityThreshold', 'guardTimeout', 'appRevision', 'worker', 'healthPath', 'admin', 'transaction', 'errorReporter',
  'metrics',
]; // prettier-ignore

const WORKER_KEYS = ['queues', 'concurrency', 'pollInterval', 'lease', 'listen', 'connections', 'shutdownGrace'];

function workerOf(parent: OptionChecks, given: WorkflowModuleOptions['worker']): WorkerSettings | false {
  if (given === false) return false;
  if (given !== undefined && !isObject(given)) {
    throw parent.wrong('worker', given, 'false, or an object of worker options');
  }
  const check = new OptionChecks((given ?? {}) as Record<string, unknown>, 'worker.');
  const settings: WorkerSettings = {
    queues: check.optional('queues', check.names) ?? null,
    concurrency: check.whole('concurrency', 50, 1),
    pollInterval: check.duration('pollInterval', '1s', 1, LONGEST_TIMER),
    lease: check.duration('lease', '8s', 1000, LONGEST_TIMER),
    listen: check.optional('listen', check.booleanOrUrl) ?? true,
    connections: check.optional('connections', check.positiveWhole) ?? null,
    shutdownGrace: check.duration('shutdownGrace', '25s', 0, LONGEST_TIMER),
  };
  check.nothingElse(WORKER_KEYS);
  return settings;
}

const METRICS_KEYS = ['prometheus', 'statsd', 'openTelemetry', 'gaugeInterval'];

function metricsOf(parent: OptionChecks, given: WorkflowModuleOptions['metrics']): MetricsSettings | false {
  if (given === false) return false;
  if (given !== undefined && !isObject(given)) throw parent.wrong('metrics', given, 'false, or an object of options');
  const { prometheus, openTelemetry, gaugeInterval } = given ?? {};
  const check = new OptionChecks((given ?? {}) as Record<string, unknown>, 'metrics.');
  const settings: MetricsSettings = {
    prometheus:
      (isObject(prometheus) || (check.optional('prometheus', check.booleanOrObject) as boolean | undefined)) ??
      'if there',
    buckets: bucketsOf(prometheus),
    statsd:
      (check.optional('statsd', check.having('increment', 'timing', 'gauge')) as StatsDClient | undefined) ?? null,
    openTelemetry: openTelemetryOf(check, openTelemetry),
    gaugeInterval: gaugeInterval === null ? null : check.duration('gaugeInterval', '10s', 1, LONGEST_TIMER),
  };
  check.nothingElse(METRICS_KEYS);
  return settings;
}

function bucketsOf(prometheus: MetricsOptions['prometheus']): readonly number[] | null {
  if (!isObject(prometheus)) return null;
  const check = new OptionChecks(prometheus as Record<string, unknown>, 'metrics.prometheus.');
  const buckets = check.optional('buckets', check.ascending) ?? null;
  check.nothingElse(['buckets']);
  return buckets;
}

function openTelemetryOf(parent: OptionChecks, given: MetricsOptions['openTelemetry']): OpenTelemetryOptions | false {
  const value = parent.optional('openTelemetry', parent.booleanOrObject) ?? false;
  if (typeof value === 'boolean') return value && {};
  const check = new OptionChecks(value as Record<string, unknown>, 'metrics.openTelemetry.');
  for (const what of ['metrics', 'traces']) check.optional(what, check.boolean);
  check.optional('meterProvider', check.having('getMeter'));
  check.optional('tracerProvider', check.having('getTracer'));
  check.nothingElse(['metrics', 'traces', 'meterProvider', 'tracerProvider']);
  return given as OpenTelemetryOptions;
}

function revisionOf(environment: NodeJS.ProcessEnv): string | null {
  const set = REVISION_VARIABLES.map((name) => environment[name]?.trim());
  return set.find(Boolean) ?? null;
}
