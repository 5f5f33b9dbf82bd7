import { COUNTERS, GAUGES, STEP_DURATION_MS } from './metric-catalog.js';
import type { MetricSink } from './metrics.js';
import type { StatsDClient } from './metrics-options.js';

/** Over the application's client: its prefix, its tags, its socket, and its to close. */
export function statsDSink(client: StatsDClient): MetricSink {
  return {
    count: (counter, labels) => void client.increment(COUNTERS[counter].name, 1, { ...labels }),
    time: (labels, durationMs) => void client.timing(STEP_DURATION_MS, durationMs, { ...labels }),
    gauge: (name, labels, value) => void client.gauge(GAUGES[name].name, value, { ...labels }),
  };
}
