import type { WorkflowDefinition } from '../definition/definition.js';
import { onWorkflowMessage, type WorkflowGaugeMessage, type WorkflowStepMessage } from './channels.js';
import { COUNTERS, NO_ERROR } from './metric-catalog.js';

export type Labels = Readonly<Record<string, string>>;
export type CounterKey = keyof typeof COUNTERS;

/** What a backend is told; names and labels are those of the catalogue. Each is called after the commit of what it tells. */
export interface MetricSink {
  count(counter: CounterKey, labels: Labels): void;
  /** An attempt ended, so many milliseconds after it began. */
  time(labels: Labels, durationMs: number): void;
  gauge(name: WorkflowGaugeMessage['name'], labels: Labels, value: number): void;
  /** A series that shows 0 before anything was counted: a rate needs a value to start from. */
  zero?(counter: CounterKey, labels: Labels): void;
  /** An attempt ended: for what is more than a number. */
  attempt?(message: WorkflowStepMessage): void;
  /** It is fed no more. */
  close?(): void;
}

/** The kinds of backends. */
export type SinkKind = 'prometheus' | 'statsd' | 'opentelemetry';

/**
 * The channels are the process's, and so is what is counted: of several applications in one process the newest feeds a backend of its kind, and when it
 * closes the one before it goes on. Each thing is counted once, and one that was left open (a test without `close()`) keeps nothing from the next.
 */
const fed: Readonly<Record<SinkKind, MetricSink[]>> = { prometheus: [], statsd: [], opentelemetry: [] };

/**
 * Feeds a backend with all that happens in this process from now on.
 *
 * @returns the function that ends it
 */
export function feed(kind: SinkKind, sink: MetricSink): () => void {
  const sinks = fed[kind];
  sinks.push(sink);
  const stops = subscriptionsOf(sink, () => sinks.at(-1) === sink);
  return () => {
    const at = sinks.indexOf(sink);
    if (at < 0) return;
    sinks.splice(at, 1);
    for (const stop of stops) stop();
    sink.close?.();
  };
}

function subscriptionsOf(sink: MetricSink, isFed: () => boolean): (() => void)[] {
  const on: typeof onWorkflowMessage = (name, listener) =>
    onWorkflowMessage(name, (message) => {
      if (isFed()) listener(message);
    });
  return [
    on('workflow.started', ({ workflowClass }) => sink.count('started', { workflow_class: workflowClass })),
    on('workflow.finished', ({ workflowClass }) => sink.count('finished', { workflow_class: workflowClass })),
    on('workflow.cancelled', ({ workflowClass }) => sink.count('cancelled', { workflow_class: workflowClass })),
    on('workflow.paused', ({ workflowClass, errorClass }) =>
      sink.count('paused', { workflow_class: workflowClass, error_class: errorClass ?? NO_ERROR }),
    ),
    on('workflow.step', (message) => {
      const labels = { workflow_class: message.workflowClass, step: message.stepName, outcome: message.outcome };
      sink.count('steps', labels);
      sink.time(labels, message.durationMs ?? 0);
      sink.attempt?.(message);
    }),
    on('workflow.stall_detected', ({ workflowClass, stepName, detection }) =>
      sink.count('stalls', { workflow_class: workflowClass, step: stepName, detection }),
    ),
    on('workflow.wait_timed_out', ({ workflowClass, stepName, action }) => {
      if (action === 'notify') sink.count('waitOverdue', { workflow_class: workflowClass, step: stepName });
    }),
    on('workflow.gauge', ({ name, labels, value }) => sink.gauge(name, labels, value)),
  ];
}

/**
 * Shows 0 for what happens seldom and is to be noticed the first time: a counter that appears with a 1 has not grown, as far as Prometheus can tell.
 */
export function startAtZero(sink: MetricSink, definitions: readonly WorkflowDefinition[]): void {
  if (!sink.zero) return;
  for (const { name, steps } of definitions) {
    const run = { workflow_class: name };
    for (const counter of ['started', 'finished', 'cancelled'] as const) sink.zero(counter, run);
    sink.zero('paused', { ...run, error_class: NO_ERROR });
    for (const step of steps) {
      if (step.kind === 'removed') continue;
      for (const outcome of ['paused', 'reattempted']) sink.zero('steps', { ...run, step: step.name, outcome });
      for (const detection of ['lease', 'sweep']) sink.zero('stalls', { ...run, step: step.name, detection });
      if (step.onTimeout === 'notify' && step.waitTimeout !== null) {
        sink.zero('waitOverdue', { ...run, step: step.name });
      }
    }
  }
}
