import type { EntityManager } from 'typeorm';
import type { WorkflowAdminOptions } from './admin/admin.options.js';
import { parseDuration, type Duration } from './definition/duration.js';
import { WorkflowConfigurationError } from './errors.js';
import { nameProblem } from './model/names.js';
import type { ErrorReporter } from './observe/error-reporter.js';
import type { MetricsOptions, MetricsSettings, OpenTelemetryOptions, StatsDClient } from './observe/metrics-options.js';

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
  const check = new Checks(options as Record<string, unknown>, '');
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

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const KEYS = [
  'connection', 'queue', 'retention', 'sweepInterval', 'stallThreshold', 'stallAction', 'maxPayloadSize',
  'errorBacktraceLines', 'waitingVisibilityThreshold', 'guardTimeout', 'appRevision', 'worker', 'healthPath', 'admin', 'transaction', 'errorReporter',
  'metrics',
]; // prettier-ignore

/** A longer timer of Node's fires at once. */
const LONGEST_TIMER = 24 * 24 * 60 * 60 * 1_000;

const WORKER_KEYS = ['queues', 'concurrency', 'pollInterval', 'lease', 'listen', 'connections', 'shutdownGrace'];

function workerOf(parent: Checks, given: WorkflowModuleOptions['worker']): WorkerSettings | false {
  if (given === false) return false;
  if (given !== undefined && !isObject(given)) {
    throw parent.wrong('worker', given, 'false, or an object of worker options');
  }
  const check = new Checks((given ?? {}) as Record<string, unknown>, 'worker.');
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

function metricsOf(parent: Checks, given: WorkflowModuleOptions['metrics']): MetricsSettings | false {
  if (given === false) return false;
  if (given !== undefined && !isObject(given)) throw parent.wrong('metrics', given, 'false, or an object of options');
  const { prometheus, openTelemetry, gaugeInterval } = given ?? {};
  const check = new Checks((given ?? {}) as Record<string, unknown>, 'metrics.');
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
  const check = new Checks(prometheus as Record<string, unknown>, 'metrics.prometheus.');
  const buckets = check.optional('buckets', check.ascending) ?? null;
  check.nothingElse(['buckets']);
  return buckets;
}

function openTelemetryOf(parent: Checks, given: MetricsOptions['openTelemetry']): OpenTelemetryOptions | false {
  const value = parent.optional('openTelemetry', parent.booleanOrObject) ?? false;
  if (typeof value === 'boolean') return value && {};
  const check = new Checks(value as Record<string, unknown>, 'metrics.openTelemetry.');
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

type Parsed<T> = { value: T } | { allowed: string };

class Checks {
  constructor(
    private readonly given: Record<string, unknown>,
    private readonly prefix: string,
  ) {}

  wrong(option: string, value: unknown, allowed: string): WorkflowConfigurationError {
    return new WorkflowConfigurationError(
      `WorkflowModule: "${this.prefix}${option}" is ${shown(value)}; allowed: ${allowed}.`,
    );
  }

  optional<T>(option: string, parse: (value: unknown) => Parsed<T>): T | undefined {
    const value = this.given[option];
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if ('allowed' in parsed) throw this.wrong(option, value, parsed.allowed);
    return parsed.value;
  }

  duration(option: string, fallback: Duration, min: number, max = Infinity): number {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    const parsed = parseDuration(value);
    if (typeof parsed === 'number' && parsed >= min && parsed <= max) return parsed;
    const most = max === Infinity ? '' : ' and at most 24 days (it is a timer of the process)';
    throw this.wrong(
      option,
      value,
      `a duration of at least ${min} ms${most}: milliseconds, or text such as "15s" or "2 days"`,
    );
  }

  whole(option: string, fallback: number, min: number): number {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    if (Number.isSafeInteger(value) && (value as number) >= min) return value as number;
    throw this.wrong(option, value, `a whole number of at least ${min}`);
  }

  oneOf<T extends string>(option: string, allowed: readonly T[], fallback: T): T {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    if ((allowed as readonly unknown[]).includes(value)) return value as T;
    throw this.wrong(option, value, allowed.map((one) => `"${one}"`).join(', '));
  }

  name = (value: unknown): Parsed<string> =>
    typeof value === 'string' && nameProblem(value) === null
      ? { value }
      : { allowed: 'a name of 1 to 255 characters without NUL' };

  names = (value: unknown): Parsed<readonly string[]> =>
    Array.isArray(value) && value.length > 0 && value.every((one) => 'value' in this.name(one))
      ? { value: [...new Set(value as string[])] }
      : { allowed: 'a list of at least one queue name' };

  path = (value: unknown): Parsed<string> =>
    typeof value === 'string' && /^\/?[\w.~-]+(\/[\w.~-]+)*$/.test(value)
      ? { value }
      : { allowed: 'a path without parameters, such as "workflows/health"' };

  text = (value: unknown): Parsed<string> =>
    typeof value === 'string' && !value.includes('\0') ? { value } : { allowed: 'a text without NUL characters' };

  positiveWhole = (value: unknown): Parsed<number> =>
    Number.isSafeInteger(value) && (value as number) >= 1
      ? { value: value as number }
      : { allowed: 'a whole number of at least 1' };

  booleanOrUrl = (value: unknown): Parsed<boolean | string> =>
    typeof value === 'boolean' || (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value))
      ? { value }
      : { allowed: 'true, false, or a postgres:// URL' };

  boolean = (value: unknown): Parsed<boolean> =>
    typeof value === 'boolean' ? { value } : { allowed: 'true or false' };

  booleanOrObject = (value: unknown): Parsed<boolean | object> =>
    typeof value === 'boolean' || isObject(value)
      ? { value }
      : { allowed: 'true, false, or an object of its settings' };

  ascending = (value: unknown): Parsed<readonly number[]> =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one, at) => Number.isFinite(one) && one > (at ? value[at - 1] : 0))
      ? { value: [...(value as number[])] }
      : { allowed: 'a list of seconds over 0, in ascending order' };

  having =
    (...methods: readonly string[]) =>
    (value: unknown): Parsed<unknown> =>
      methods.every((method) => typeof (value as Record<string, unknown> | null)?.[method] === 'function')
        ? { value }
        : { allowed: `an object with ${methods.map((method) => `${method}()`).join(', ')}` };

  callable = (value: unknown): Parsed<unknown> =>
    typeof value === 'function' ? { value } : { allowed: 'a function that returns an EntityManager or undefined' };

  reporter = (value: unknown): Parsed<unknown> =>
    typeof (value as ErrorReporter | null)?.report === 'function'
      ? { value }
      : { allowed: 'an object with a method report(error, context)' };

  nothingElse(known: readonly string[]): void {
    for (const key of Object.keys(this.given)) {
      if (!known.includes(key)) {
        throw new WorkflowConfigurationError(
          `WorkflowModule: there is no option "${this.prefix}${key}"; there are: ${known.map((one) => this.prefix + one).join(', ')}.`,
        );
      }
    }
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? `[${value.map(shown).join(', ')}]` : 'an object';
  return String(value);
}
