import type { Counter, Gauge, Meter, SpanContext, Tracer } from '@opentelemetry/api';
import type { WorkflowStepMessage } from './channels.js';
import { COUNTERS, GAUGES, STEP_DURATION } from './metric-catalog.js';
import type { MetricSink } from './metrics.js';
import type { OpenTelemetryOptions } from './metrics-options.js';

export type OpenTelemetryApi = typeof import('@opentelemetry/api');

const SCOPE = 'nestjs-pg-workflows';

/** Metrics and spans of the SDK that the options name, else of the one registered globally; without one they come to nothing. */
export function openTelemetrySink(
  api: OpenTelemetryApi,
  { metrics = true, traces = true, meterProvider, tracerProvider }: OpenTelemetryOptions,
  buckets: readonly number[],
): MetricSink {
  const meter = (meterProvider ?? api.metrics).getMeter(SCOPE) as Meter;
  const tracer = (tracerProvider ?? api.trace).getTracer(SCOPE) as Tracer;
  return {
    ...(metrics ? meters(meter, buckets) : NO_METRICS),
    ...(traces && { attempt: (message) => tellSpan(api, tracer, message) }),
  };
}

const NO_METRICS: MetricSink = { count() {}, time() {}, gauge() {} };

function meters(meter: Meter, buckets: readonly number[]): MetricSink {
  const counters = Object.fromEntries(
    Object.entries(COUNTERS).map(([key, { name, help }]) => [key, meter.createCounter(name, { description: help })]),
  ) as Record<keyof typeof COUNTERS, Counter>;
  const gauges = Object.fromEntries(
    Object.values(GAUGES).map(({ name, help }) => [name, meter.createGauge(name, { description: help })]),
  ) as Record<keyof typeof GAUGES, Gauge>;
  const durations = meter.createHistogram(STEP_DURATION.name, {
    description: STEP_DURATION.help,
    unit: 's',
    advice: { explicitBucketBoundaries: [...buckets] },
  });
  return {
    count: (counter, labels) => counters[counter].add(1, { ...labels }),
    zero: (counter, labels) => counters[counter].add(0, { ...labels }),
    time: (labels, durationMs) => durations.record(durationMs / 1_000, { ...labels }),
    gauge: (name, labels, value) => gauges[name].record(value, { ...labels }),
  };
}

/**
 * The attempts of a run are spans of one trace, whichever process made them and however many days lie between them. The trace's id is the run's, without its
 * dashes, so nothing has to be stored or passed on, and who has the one finds the other. A parent that is no span of anybody's stands for the run.
 *
 * A span is written when its attempt has ended and that has committed: one that was rolled back leaves none.
 */
function tellSpan(api: OpenTelemetryApi, tracer: Tracer, message: WorkflowStepMessage): void {
  const { workflowClass, workflowId, stepName, attempt, outcome, errorClass, durationMs, endedAt } = message;
  const end = endedAt.getTime();
  const span = tracer.startSpan(
    `${workflowClass} ${stepName}`,
    {
      startTime: end - (durationMs ?? 0),
      attributes: {
        'workflow.class': workflowClass,
        'workflow.id': workflowId,
        'workflow.step': stepName,
        'workflow.attempt': attempt,
        'workflow.outcome': outcome,
        ...(errorClass !== null && { 'error.type': errorClass }),
      },
    },
    api.trace.setSpanContext(api.ROOT_CONTEXT, runContext(api, workflowId)),
  );
  if (errorClass !== null) span.setStatus({ code: api.SpanStatusCode.ERROR, message: errorClass });
  span.end(end);
}

/** The last digits of a run's id are random; the first are its time, the same for many. */
function runContext({ TraceFlags }: OpenTelemetryApi, workflowId: string): SpanContext {
  const traceId = workflowId.replaceAll('-', '').toLowerCase();
  return { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
}
