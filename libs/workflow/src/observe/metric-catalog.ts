/** A metric as every backend has it: name and labels are the same in Prometheus, StatsD and OpenTelemetry. */
export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Numbers that only grow, in each process for itself. */
export const COUNTERS = {
  steps: {
    name: 'workflow_steps_total',
    help: 'Attempts that ended, by what their end did to the run',
    labels: ['workflow_class', 'step', 'outcome'],
  },
  started: {
    name: 'workflows_started_total',
    help: 'Runs started; a start that found an earlier run with its key is none',
    labels: ['workflow_class'],
  },
  finished: { name: 'workflows_finished_total', help: 'Runs that finished', labels: ['workflow_class'] },
  cancelled: { name: 'workflows_cancelled_total', help: 'Runs that were cancelled', labels: ['workflow_class'] },
  paused: {
    name: 'workflows_paused_total',
    help: 'Pauses, by the class of the error that led to them; "none": somebody asked for it, or the body did',
    labels: ['workflow_class', 'error_class'],
  },
  stalls: {
    name: 'workflow_stalls_total',
    help: 'Attempts whose worker was lost (lease) or that took longer than allowed (sweep)',
    labels: ['workflow_class', 'step', 'detection'],
  },
  waitOverdue: {
    name: 'workflow_wait_overdue_total',
    help: 'Notices that a signal is late, of waits with onTimeout "notify"',
    labels: ['workflow_class', 'step'],
  },
} as const satisfies Record<string, MetricDefinition>;

/** How long attempts took. StatsD has it in milliseconds, as {@link STEP_DURATION_MS}. */
export const STEP_DURATION = {
  name: 'workflow_step_duration_seconds',
  help: 'From the start to the end of an attempt; 0 for one whose body never began',
  labels: COUNTERS.steps.labels,
} as const satisfies MetricDefinition;

export const STEP_DURATION_MS = 'workflow_step_duration_ms';

/** Numbers as they are now, read from the tables: each process that reads them has the same. */
export const GAUGES = {
  workflows: {
    name: 'workflows',
    help: 'Runs that have not ended, by status',
    labels: ['workflow_class', 'status'],
  },
  workflows_stuck: {
    name: 'workflows_stuck',
    help: 'Runs that need a person, by why',
    labels: ['workflow_class', 'reason'],
  },
  workflow_queue_depth: {
    name: 'workflow_queue_depth',
    help: 'Steps and members of fan-outs that are due and not taken',
    labels: ['queue'],
  },
  workflow_queue_oldest_due_seconds: {
    name: 'workflow_queue_oldest_due_seconds',
    help: 'For how long the oldest of them has been due; 0: none is',
    labels: ['queue'],
  },
} as const satisfies Record<string, MetricDefinition>;

/** Bounds of the histogram, in seconds: a step is a query of milliseconds or a job of hours. */
export const STEP_DURATION_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
];

/** Of a pause that no error led to. */
export const NO_ERROR = 'none';
