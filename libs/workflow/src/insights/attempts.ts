import type { StepOutcome, StepStatus } from '../model/states.js';
import { readable } from '../model/payload.js';
import type { Connection } from '../store/connection.js';
import { durationsOf, durationsText } from './attempt-durations.js';
import { epochMs, toMoment } from './moments.js';
import type { AttemptView, BatchView } from './views.js';
import { batchDescription } from './words.js';

/** A page shows so many, the newest. */
const MOST = 100;

interface AttemptRow {
  readonly id: string;
  readonly step_name: string;
  readonly attempt: number;
  readonly status: StepStatus;
  readonly outcome: StepOutcome | null;
  readonly queue: string;
  readonly priority: number;
  readonly created_at: number;
  readonly scheduled_at: number;
  readonly waiting_since: number | null;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly held: boolean;
  readonly worker: string | null;
  readonly app_revision: string | null;
  readonly wait_for: string | null;
  readonly timeout_at: number | null;
  readonly batch_size: number | null;
  readonly output: unknown;
  readonly error_class: string | null;
  readonly error_message: string | null;
  readonly error_backtrace: string | null;
  readonly error_causes: readonly { class: string; message: string }[] | null;
  readonly total: number;
  readonly now: number;
}

/** A run whose attempts are shown. */
interface AttemptsRun {
  readonly id: string;
  readonly workflow_class: string;
  readonly status: string;
}

/** The newest hundred attempts, newest first, and how many there are. */
export async function attemptsOf(
  connection: Connection,
  run: AttemptsRun,
): Promise<{ attempts: AttemptView[]; total: number }> {
  // A loose walk over the run's steps: a fan-out's members, which may be a hundred thousand, stand between its attempts in the index.
  const rows = await connection.ask<AttemptRow>(
    (t) => `with recursive step(name) as (
  (select s.step_name from ${t.steps} s where s.workflow_id = $1::uuid order by s.step_name limit 1)
  union all
  select (select s.step_name from ${t.steps} s where s.workflow_id = $1::uuid and s.step_name > step.name order by s.step_name limit 1)
  from step where step.name is not null
), newest as materialized (
  select s.id, count(*) over ()::int as total
  from step cross join lateral (
    select s.id from ${t.steps} s where s.workflow_id = $1::uuid and s.step_name = step.name and s.member_index = -1) s
  order by s.id desc limit ${MOST}
)
select s.id, s.step_name, s.attempt, s.status, s.outcome, s.queue, s.priority, ${epochMs('s.created_at')} as created_at,
       ${epochMs('s.scheduled_at')} as scheduled_at, ${epochMs('s.waiting_since')} as waiting_since,
       ${epochMs('s.started_at')} as started_at, ${epochMs('s.finished_at')} as finished_at,
       s.status = 'scheduled' and s.available_at is null as held, s.worker, s.app_revision, s.wait_for,
       ${epochMs('s.timeout_at')} as timeout_at, s.batch_size, s.output,
       s.error_class, s.error_message, s.error_backtrace, s.error_causes, newest.total,
       ${epochMs('statement_timestamp()')} as now
from newest join ${t.steps} s on s.id = newest.id order by s.id desc`,
    [run.id],
  );
  const batches = rows.some((row) => row.batch_size !== null) ? await batchesOf(connection, run.id) : new Map();
  return {
    attempts: rows.map((row) => attemptView(row, run, batches)),
    total: rows[0]?.total ?? 0,
  };
}

interface BatchCounts {
  readonly parent_step_id: string;
  readonly completed: number;
  readonly failed: number;
}

/** How the members of the run's batches ended, by the batch's attempt. */
async function batchesOf(connection: Connection, workflowId: string): Promise<Map<string, BatchCounts>> {
  const rows = await connection.ask<BatchCounts>(
    (t) => `select m.parent_step_id, count(*) filter (where m.status = 'completed')::int as completed,
       count(*) filter (where m.status = 'failed')::int as failed
from ${t.steps} m where m.workflow_id = $1::uuid and m.parent_step_id is not null group by m.parent_step_id`,
    [workflowId],
  );
  return new Map(rows.map((row) => [row.parent_step_id, row]));
}

function attemptView(row: AttemptRow, run: AttemptsRun, batches: ReadonlyMap<string, BatchCounts>): AttemptView {
  const durations = durationsOf(row);
  return {
    id: row.id,
    step: row.step_name,
    attempt: row.attempt,
    status: row.status,
    outcome: row.outcome,
    queue: row.queue,
    priority: row.priority,
    created_at: toMoment(row.created_at),
    scheduled_at: toMoment(row.scheduled_at),
    waiting_since: toMoment(row.waiting_since),
    started_at: toMoment(row.started_at),
    finished_at: toMoment(row.finished_at),
    ...durations,
    durations: durationsText(durations),
    worker: row.worker,
    app_revision: row.app_revision,
    wait_for: row.wait_for,
    timeout_at: toMoment(row.timeout_at),
    output: readable(row.output),
    error:
      row.error_class === null
        ? null
        : {
            class: row.error_class,
            message: row.error_message ?? '',
            backtrace: row.error_backtrace,
            causes: row.error_causes ?? [],
          },
    batch: row.batch_size === null ? null : batchView(row, row.batch_size, run, batches.get(row.id)),
  };
}

function batchView(
  { step_name: step }: AttemptRow,
  total: number,
  { id, workflow_class: workflowClass }: AttemptsRun,
  { completed = 0, failed = 0 }: Partial<BatchCounts> = {},
): BatchView {
  return {
    description: batchDescription({ id, workflowClass, step }),
    total,
    completed,
    failed,
    unfinished: Math.max(0, total - completed - failed),
  };
}
