import { WorkflowConfigurationError } from './errors.js';
import { settingsOf, type WorkflowModuleOptions } from './workflow.options.js';

const REVISIONS = ['APP_REVISION', 'GIT_SHA', 'GIT_COMMIT', 'SOURCE_VERSION', 'HEROKU_SLUG_COMMIT'];

describe('settings', () => {
  const environment = REVISIONS.map((name) => [name, process.env[name]] as const);

  beforeEach(() => {
    for (const name of REVISIONS) delete process.env[name];
  });

  afterAll(() => {
    for (const [name, value] of environment) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  const refused = (options: unknown): Error => {
    try {
      settingsOf(options as WorkflowModuleOptions);
    } catch (error) {
      expect(error).toBeInstanceOf(WorkflowConfigurationError);
      return error as Error;
    }
    throw new Error(`Accepted: ${JSON.stringify(options)}`);
  };

  test('DEF-20 without options every setting has the listed default', () => {
    const defaults = {
      connection: undefined,
      queue: 'default',
      retention: 30 * 24 * 60 * 60 * 1000,
      sweepInterval: 5 * 60 * 1000,
      stallThreshold: 60 * 60 * 1000,
      stallAction: 'pause',
      maxPayloadSize: 131_072,
      errorBacktraceLines: 50,
      waitingVisibilityThreshold: 7 * 24 * 60 * 60 * 1000,
      guardTimeout: 30_000,
      appRevision: null,
      worker: {
        queues: null,
        concurrency: 50,
        pollInterval: 1000,
        lease: 8000,
        listen: true,
        connections: null,
        shutdownGrace: 25_000,
      },
      transaction: undefined,
      errorReporter: undefined,
      metrics: { prometheus: 'if there', buckets: null, statsd: null, openTelemetry: false, gaugeInterval: 10_000 },
    };
    expect(settingsOf()).toEqual(defaults);
    expect(settingsOf({ worker: {} })).toEqual(defaults);
    expect(settingsOf({ queue: undefined, retention: undefined, worker: undefined })).toEqual(defaults);
  });

  test('DEF-20 what is given replaces the default, durations as milliseconds or text', () => {
    const transaction = () => undefined;
    const errorReporter = { report: () => undefined };
    const statsd = { increment: () => undefined, timing: () => undefined, gauge: () => undefined };
    expect(
      settingsOf({
        connection: 'flows',
        queue: 'orders',
        retention: null,
        sweepInterval: '10s',
        stallThreshold: 5000,
        stallAction: 'reattempt',
        maxPayloadSize: 1024,
        errorBacktraceLines: 0,
        waitingVisibilityThreshold: '1 day',
        guardTimeout: '2s',
        appRevision: 'abc',
        worker: {
          queues: ['mail', 'orders', 'mail'],
          concurrency: 1,
          pollInterval: 1,
          lease: '1s',
          listen: 'postgres://db/direct',
          connections: 3,
          shutdownGrace: 0,
        },
        transaction,
        errorReporter,
        metrics: {
          prometheus: { buckets: [1, 60] },
          statsd,
          openTelemetry: { traces: false },
          gaugeInterval: '1 minute',
        },
      }),
    ).toEqual({
      connection: 'flows',
      queue: 'orders',
      retention: null,
      sweepInterval: 10_000,
      stallThreshold: 5000,
      stallAction: 'reattempt',
      maxPayloadSize: 1024,
      errorBacktraceLines: 0,
      waitingVisibilityThreshold: 86_400_000,
      guardTimeout: 2000,
      appRevision: 'abc',
      worker: {
        queues: ['mail', 'orders'],
        concurrency: 1,
        pollInterval: 1,
        lease: 1000,
        listen: 'postgres://db/direct',
        connections: 3,
        shutdownGrace: 0,
      },
      transaction,
      errorReporter,
      metrics: {
        prometheus: true,
        buckets: [1, 60],
        statsd,
        openTelemetry: { traces: false },
        gaugeInterval: 60_000,
      },
    });
    expect(settingsOf({ metrics: false }).metrics).toBe(false);
    expect(
      settingsOf({ metrics: { prometheus: false, openTelemetry: true, gaugeInterval: null } }).metrics,
    ).toMatchObject({ prometheus: false, openTelemetry: {}, gaugeInterval: null });
    expect(settingsOf({ worker: false }).worker).toBe(false);
    expect(settingsOf({ worker: { listen: false } }).worker).toMatchObject({ listen: false });
  });

  test('DEF-20 appRevision comes from the first variable of the environment that is not blank', () => {
    process.env.GIT_SHA = ' f00d ';
    process.env.SOURCE_VERSION = 'later';
    expect(settingsOf().appRevision).toBe('f00d');
    process.env.APP_REVISION = '  ';
    expect(settingsOf().appRevision).toBe('f00d');
    process.env.APP_REVISION = 'v7';
    expect(settingsOf().appRevision).toBe('v7');
    expect(settingsOf({ appRevision: 'given' }).appRevision).toBe('given');
  });

  test.each<[option: string, value: unknown, shown: string, allowed: RegExp]>([
    ['connection', '', '""', /name of 1 to 255/],
    ['connection', 7, '7', /name of 1 to 255/],
    ['queue', ' ', '" "', /name of 1 to 255/],
    ['queue', 'q'.repeat(256), 'q', /name of 1 to 255/],
    ['queue', 'a\0b', 'a', /without NUL/],
    ['queue', null, 'null', /name of 1 to 255/],
    ['retention', 'next year', '"next year"', /duration of at least 1 ms/],
    ['retention', 0, '0', /duration of at least 1 ms/],
    ['sweepInterval', 0, '0', /duration of at least 1 ms/],
    ['sweepInterval', null, 'null', /duration/],
    ['stallThreshold', -5, '-5', /duration/],
    ['stallThreshold', Infinity, 'Infinity', /duration/],
    ['stallAction', 'explode', '"explode"', /"pause", "reattempt", "cancel"/],
    ['stallAction', null, 'null', /"pause", "reattempt", "cancel"/],
    ['maxPayloadSize', 1.5, '1.5', /whole number of at least 2/],
    ['maxPayloadSize', '128kb', '"128kb"', /whole number/],
    ['maxPayloadSize', null, 'null', /whole number/],
    ['maxPayloadSize', 1, '1', /whole number of at least 2/],
    ['errorBacktraceLines', -1, '-1', /whole number of at least 0/],
    ['errorBacktraceLines', NaN, 'NaN', /whole number/],
    ['waitingVisibilityThreshold', '', '""', /duration/],
    ['guardTimeout', 0, '0', /duration/],
    ['guardTimeout', {}, 'an object', /duration/],
    ['appRevision', 12, '12', /text/],
    ['appRevision', 'a\0', 'a', /text without NUL/],
    ['worker', true, 'true', /false, or an object/],
    ['worker', null, 'null', /false, or an object/],
    ['worker', 'on', '"on"', /false, or an object/],
    ['worker', ['mail'], '["mail"]', /false, or an object/],
    ['worker.queues', [], '[]', /list of at least one queue name/],
    ['worker.queues', 'mail', '"mail"', /list of at least one queue name/],
    ['worker.queues', ['mail', ''], '["mail", ""]', /list of at least one queue name/],
    ['worker.queues', null, 'null', /list of at least one queue name/],
    ['worker.concurrency', 0, '0', /whole number of at least 1/],
    ['worker.concurrency', '10', '"10"', /whole number/],
    ['worker.concurrency', null, 'null', /whole number/],
    ['worker.pollInterval', 0, '0', /duration of at least 1 ms/],
    ['worker.lease', '500ms', '"500ms"', /duration of at least 1000 ms/],
    ['worker.listen', 'http://db', '"http://db"', /true, false, or a postgres:\/\/ URL/],
    ['worker.listen', 1, '1', /true, false/],
    ['worker.connections', 0, '0', /whole number of at least 1/],
    ['worker.connections', 2.5, '2.5', /whole number/],
    ['worker.shutdownGrace', -1, '-1', /duration of at least 0 ms/],
    ['transaction', {}, 'an object', /function that returns an EntityManager/],
    ['errorReporter', () => undefined, '', /object with a method report/],
    ['errorReporter', {}, 'an object', /object with a method report/],
    ['errorReporter', null, 'null', /object with a method report/],
    ['metrics', true, 'true', /false, or an object/],
    ['metrics', null, 'null', /false, or an object/],
    ['metrics.prometheus', 'yes', '"yes"', /true, false, or an object/],
    ['metrics.prometheus.buckets', [], '[]', /seconds over 0, in ascending order/],
    ['metrics.prometheus.buckets', [5, 1], '[5, 1]', /ascending/],
    ['metrics.prometheus.buckets', [0, 1], '[0, 1]', /over 0/],
    ['metrics.statsd', { increment: () => undefined }, 'an object', /increment\(\), timing\(\), gauge\(\)/],
    ['metrics.statsd', null, 'null', /increment\(\)/],
    ['metrics.openTelemetry', 1, '1', /true, false, or an object/],
    ['metrics.openTelemetry.traces', 'on', '"on"', /true or false/],
    ['metrics.openTelemetry.meterProvider', {}, 'an object', /getMeter\(\)/],
    ['metrics.gaugeInterval', 0, '0', /duration of at least 1 ms/],
  ])('DEF-20 %s = %p is refused', (option, value, shown, allowed) => {
    const { message } = refused(option.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value));
    expect(message).toContain(`"${option}"`);
    expect(message).toContain(shown);
    expect(message).toMatch(allowed);
  });

  test.each([
    [{ guardTimeout: '25 days' }, 'guardTimeout'],
    [{ sweepInterval: '25 days' }, 'sweepInterval'],
    [{ worker: { pollInterval: '60 days' } }, 'worker.pollInterval'],
    [{ worker: { shutdownGrace: '60 days' } }, 'worker.shutdownGrace'],
    [{ worker: { lease: '60 days' } }, 'worker.lease'],
  ])('DEF-20 %j is refused: a timer of the process that long would fire at once', (options, name) => {
    expect(refused(options).message).toContain(`"${name}" is`);
    expect(refused(options).message).toContain('at most 24 days');
  });

  test('DEF-20 an option that does not exist is refused, and those that do are named', () => {
    expect(refused({ qeue: 'mail' }).message).toMatch(/no option "qeue".* queue, /);
    expect(refused({ worker: { quues: ['mail'] } }).message).toMatch(/no option "worker\.quues".*worker\.queues/);
    expect(refused({ metrics: { otel: true } }).message).toMatch(/no option "metrics\.otel".*metrics\.openTelemetry/);
  });

  test.each([[null], ['default'], [7], [['queue']]])('DEF-20 %p in the place of the options is refused', (options) => {
    expect(refused(options).message).toMatch(/options/);
  });
});
