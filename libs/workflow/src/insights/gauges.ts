import type { WorkflowGaugeMessage } from '../observe/channels.js';
import type { Connection } from '../store/connection.js';
import type { Tables } from '../store/statement.js';
import { ONGOING_STATUSES, runCounts, type OngoingStatus } from './run-counts.js';
import { STUCK_REASONS, stuckParameters, stuckRuns, type StuckThresholds } from './stuck.js';
import { queuesOf } from './summary.js';
import type { QueueView } from './views.js';

interface StuckCount {
  readonly workflow_class: string;
  readonly reason: string;
  readonly runs: number;
}

const stuckCounts = (t: Tables) => `
select workflow_class, reason, count(*)::float8 as runs from (${stuckRuns(t, 1)}) stuck group by workflow_class, reason`;

/**
 * The gauges, as the tables have them. What was told once is told again each time, as 0 when it has fallen to nothing: a series that is
 * no longer told keeps its last number.
 */
export class Gauges {
  private readonly told = new Map<string, WorkflowGaugeMessage>();

  /** @param known classes and queues of this process: they are told from the beginning */
  constructor(
    private readonly thresholds: StuckThresholds,
    known: { readonly classes: readonly string[]; readonly queues: readonly string[] },
  ) {
    for (const workflowClass of known.classes) {
      for (const status of ONGOING_STATUSES) this.keep(runsGauge(workflowClass, status, 0));
      for (const reason of STUCK_REASONS) this.keep(stuckGauge(workflowClass, reason, 0));
    }
    for (const queue of known.queues) queueGauges({ queue, depth: 0, oldest_due_seconds: 0 }).forEach(this.keep);
  }

  /**
   * Three statements, each planned for the tables as they are: it is asked for seldom, and they may have grown.
   *
   * @param connection in a transaction, so that they are of one moment
   */
  async read(connection: Connection): Promise<readonly WorkflowGaugeMessage[]> {
    const runs = await runCounts(connection);
    const stuck = await connection.ask<StuckCount>(stuckCounts, stuckParameters(this.thresholds));
    const queues = await queuesOf(connection);
    for (const [key, gauge] of this.told) this.told.set(key, { ...gauge, value: 0 });
    for (const run of runs)
      for (const status of ONGOING_STATUSES) this.keep(runsGauge(run.workflow_class, status, run[status]));
    for (const row of stuck) this.keep(stuckGauge(row.workflow_class, row.reason, row.runs));
    for (const row of queues) queueGauges(row).forEach(this.keep);
    return [...this.told.values()];
  }

  private readonly keep = (gauge: WorkflowGaugeMessage): void => {
    this.told.set(JSON.stringify([gauge.name, gauge.labels]), gauge);
  };
}

function runsGauge(workflowClass: string, status: OngoingStatus, value: number): WorkflowGaugeMessage {
  return { name: 'workflows', labels: { workflow_class: workflowClass, status }, value };
}

function stuckGauge(workflowClass: string, reason: string, value: number): WorkflowGaugeMessage {
  return { name: 'workflows_stuck', labels: { workflow_class: workflowClass, reason }, value };
}

function queueGauges({ queue, depth, oldest_due_seconds }: QueueView): WorkflowGaugeMessage[] {
  return [
    { name: 'workflow_queue_depth', labels: { queue }, value: depth },
    { name: 'workflow_queue_oldest_due_seconds', labels: { queue }, value: oldest_due_seconds },
  ];
}
