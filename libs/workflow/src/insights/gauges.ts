import type { RunStatus } from '../model/states.js';
import type { WorkflowGaugeMessage } from '../observe/channels.js';
import type { Connection } from '../store/connection.js';
import type { Tables } from '../store/statement.js';
import { STUCK_REASONS, stuckParameters, stuckRuns, type StuckThresholds } from './stuck.js';
import { queuesOf } from './summary.js';
import type { QueueView } from './views.js';

const STATUSES = ['ready', 'performing', 'waiting', 'paused'] as const satisfies readonly RunStatus[];
type OngoingStatus = (typeof STATUSES)[number];

type RunCount = Readonly<{ workflow_class: string } & Record<OngoingStatus, number>>;

/**
 * By the indexes of what is open alone: ended runs cost nothing, and neither the runs' nor the steps' rows are read where vacuum has been. No index has the
 * status of a run (its many changes would no longer stay in their page). It goes with that of its open row, and who is neither paused, waiting
 * nor performing is ready.
 */
const runCounts = (t: Tables) => `
with ongoing as (
  select workflow_class, count(*) as runs from ${t.runs} where ended_at is null group by workflow_class
), paused as (
  select w.workflow_class, count(*) as runs, count(*) filter (where s.status = 'waiting') as waiting,
         count(*) filter (where s.status = 'in_progress') as performing
  from ${t.runs} w left join ${t.steps} s
    on s.workflow_id = w.id and s.status in ('scheduled', 'waiting', 'in_progress') and s.parent_step_id is null
  where w.paused_at is not null group by w.workflow_class
), signal_waits as (
  select handler, count(*) as runs from ${t.steps} where status = 'waiting' and batch_size is null group by handler
), batch_waits as (
  select handler, count(*) as runs from ${t.steps} where status = 'waiting' and batch_size is not null group by handler
), at_work as (
  select handler, count(*) as runs from ${t.steps} where status = 'in_progress' and parent_step_id is null group by handler
), counted as (
  select o.workflow_class, o.runs, coalesce(p.runs, 0) as paused,
         coalesce(s.runs, 0) + coalesce(b.runs, 0) - coalesce(p.waiting, 0) as waiting,
         coalesce(a.runs, 0) - coalesce(p.performing, 0) as performing
  from ongoing o left join paused p using (workflow_class) left join signal_waits s on s.handler = o.workflow_class
    left join batch_waits b on b.handler = o.workflow_class left join at_work a on a.handler = o.workflow_class
)
select workflow_class, paused::float8, waiting::float8, performing::float8,
       greatest(runs - paused - waiting - performing, 0)::float8 as ready
from counted`;

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
      for (const status of STATUSES) this.keep(runsGauge(workflowClass, status, 0));
      for (const reason of STUCK_REASONS) this.keep(stuckGauge(workflowClass, reason, 0));
    }
    for (const queue of known.queues) queueGauges({ queue, depth: 0, oldest_due_seconds: 0 }).forEach(this.keep);
  }

  /**
   * Three statements, each planned for the tables as they are: it is asked for seldom, and they may have grown. Compiling them (JIT) would take longer than they do.
   *
   * @param connection in a transaction, so that they are of one moment
   */
  async read(connection: Connection): Promise<readonly WorkflowGaugeMessage[]> {
    await connection.command('set local jit = off');
    const runs = await connection.ask<RunCount>(runCounts, []);
    const stuck = await connection.ask<StuckCount>(stuckCounts, stuckParameters(this.thresholds));
    const queues = await queuesOf(connection);
    for (const [key, gauge] of this.told) this.told.set(key, { ...gauge, value: 0 });
    for (const run of runs)
      for (const status of STATUSES) this.keep(runsGauge(run.workflow_class, status, run[status]));
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
