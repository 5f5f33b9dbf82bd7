import type { FactoryProvider } from '@nestjs/common';
import type { Counter, Gauge, Histogram } from 'prom-client';
import { WorkflowConfigurationError } from '../errors.js';
import { COUNTERS, GAUGES, STEP_DURATION, type MetricDefinition } from './metric-catalog.js';
import type { CounterKey, Labels, MetricSink } from './metrics.js';

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly buckets?: number[];
}

/** What `@willsoto/nestjs-prometheus` is used for: its providers know the application's prefix, and make the metric in the default registry. */
export interface NestPrometheus {
  readonly makeCounterProvider: (options: MetricOptions) => Provider;
  readonly makeGaugeProvider: (options: MetricOptions) => Provider;
  readonly makeHistogramProvider: (options: MetricOptions) => Provider;
}

type Provider = unknown;

/** Finds a provider of the application's, in whichever module it is; undefined where there is none. */
export type FindProvider = (token: FactoryProvider['provide']) => unknown;

/**
 * The metrics in the default registry of `prom-client`: made there, or found, when another application of this process made them.
 *
 * Nest is not given the providers but asked for what they need: `PrometheusModule` need not be global for its prefix to count.
 *
 * @throws {WorkflowConfigurationError} when the registry has another metric of that name
 */
export function prometheusSink(prometheus: NestPrometheus, buckets: readonly number[], find: FindProvider): MetricSink {
  const make = <Made>(provider: Provider, { name, labels }: MetricDefinition): Made => {
    const { inject = [], useFactory } = provider as FactoryProvider;
    const needed = inject.map((one) => find(typeof one === 'object' && 'token' in one ? one.token : one));
    const made = useFactory(...needed) as Made & { labelNames?: readonly string[] };
    assertOurs(name, labels, made.labelNames);
    return made;
  };
  const optionsOf = ({ name, help, labels }: MetricDefinition) => ({ name, help, labelNames: [...labels] });
  const counters = mapValues(COUNTERS, (one) => make<Counter>(prometheus.makeCounterProvider(optionsOf(one)), one));
  const gauges = mapValues(GAUGES, (one) => make<Gauge>(prometheus.makeGaugeProvider(optionsOf(one)), one));
  const durations = make<Histogram>(
    prometheus.makeHistogramProvider({ ...optionsOf(STEP_DURATION), buckets: [...buckets] }),
    STEP_DURATION,
  );
  return {
    count: (counter: CounterKey, labels: Labels) => counters[counter].inc(labels),
    zero: (counter: CounterKey, labels: Labels) => counters[counter].inc(labels, 0),
    time: (labels, durationMs) => durations.observe(labels, durationMs / 1_000),
    gauge: (name, labels, value) => gauges[name].set(labels, value),
    // Nobody reads them any more: a last number that stays would be told as if it were so now.
    close: () => Object.values(gauges).forEach((gauge) => gauge.reset()),
  };
}

function mapValues<Key extends string, From, To>(from: Record<Key, From>, map: (one: From) => To): Record<Key, To> {
  return Object.fromEntries(Object.entries<From>(from).map(([key, one]) => [key, map(one)])) as Record<Key, To>;
}

function assertOurs(name: string, labels: readonly string[], found: readonly string[] | undefined): void {
  if (found?.length === labels.length && labels.every((label) => found.includes(label))) return;
  throw new WorkflowConfigurationError(
    `The default registry of prom-client has a metric "${name}" already, and not ours (its labels: ${found?.join(', ') || 'none'}; ours: ` +
      `${labels.join(', ')}). Rename it, set "customMetricPrefix" of PrometheusModule, or give WorkflowModule "metrics: { prometheus: false }".`,
  );
}
