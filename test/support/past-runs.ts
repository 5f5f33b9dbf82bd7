import { randomUUID } from 'node:crypto';
import type { RunStatus, StepOutcome, StepStatus } from 'nestjs-pg-workflows';
import type { Suite } from './suite';

/** An attempt as it was: its times are milliseconds beside the moment that `leavePast` is given, negative before it. */
export interface PastAttempt {
  readonly step: string;
  readonly due: number;
  /** When it was scheduled for at first, where that is not `due`: it has been moved, or woken. */
  readonly scheduled?: number;
  readonly started?: number;
  readonly ended?: number;
  /** Default: completed when it ended, in progress when it started, else scheduled. */
  readonly status?: StepStatus;
  /** Default: completed for what completed. */
  readonly outcome?: StepOutcome;
  readonly error?: string;
  readonly revision?: string;
}

export interface PastRun {
  readonly class: string;
  readonly created: number;
  readonly ended?: number;
  readonly status: RunStatus;
  /** Oldest first; the last is the current one. */
  readonly attempts: readonly PastAttempt[];
}

/** Writes runs as the engine would have left them, trail and all; answers their ids. */
export async function leavePast(sql: Suite['sql'], beside: Date, runs: readonly PastRun[]): Promise<string[]> {
  const moment = (offset: number | undefined) =>
    offset === undefined ? null : new Date(beside.getTime() + offset).toISOString();
  const written = runs.map((run) => ({ ...run, id: randomUUID() }));
  const rows = written.map(({ id, status, created, ended, attempts, ...run }) => {
    const updated = Math.max(created, ended ?? created, ...attempts.map((one) => one.ended ?? one.started ?? created));
    return {
      id,
      class: run.class,
      status,
      step: attempts.at(-1)!.step,
      created: moment(created),
      updated: moment(updated),
      paused: status === 'paused' ? moment(updated) : null,
      ended: moment(ended),
    };
  });
  const counts = new Map<string, number>();
  const steps = written.flatMap((run) =>
    run.attempts.map((one) => {
      const attempt = (counts.get(`${run.id} ${one.step}`) ?? 0) + 1;
      counts.set(`${run.id} ${one.step}`, attempt);
      const status = statusOf(one);
      return {
        run: run.id,
        class: run.class,
        step: one.step,
        attempt,
        status,
        outcome: one.outcome ?? (status === 'completed' ? 'completed' : null),
        scheduled: moment(one.scheduled ?? one.due),
        available: status === 'waiting' || (status === 'scheduled' && run.status === 'paused') ? null : moment(one.due),
        waiting: status === 'waiting' ? moment(one.due) : null,
        started: moment(one.started),
        ended: moment(one.ended),
        error: one.error ?? null,
        revision: one.revision ?? null,
      };
    }),
  );
  await sql(
    `insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, created_at, updated_at, paused_at, ended_at)
     select id, class, '{}', status, step, '', created, updated, paused, ended
     from json_to_recordset($1::json) r(id uuid, class text, status text, step text, created timestamptz, updated timestamptz,
                                        paused timestamptz, ended timestamptz)`,
    [JSON.stringify(rows)],
  );
  await sql(
    `insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, scheduled_at, available_at, waiting_since, started_at,
                                 finished_at, claim_no, worker_id, app_revision, error_class, error_message)
     select run, class, step, attempt, status, outcome, 'default', scheduled, available, waiting, started, ended, 1,
            case when started is not null then gen_random_uuid() end, revision, error, error
     from json_to_recordset($1::json) r(run uuid, class text, step text, attempt int, status text, outcome text, scheduled timestamptz,
       available timestamptz, waiting timestamptz, started timestamptz, ended timestamptz, revision text, error text)`,
    [JSON.stringify(steps)],
  );
  const events = written.flatMap((run) => trailOf(run).map((name) => ({ run: run.id, name })));
  await sql(
    `insert into workflow_events (workflow_id, name, actor)
     select run, name, 'system' from json_to_recordset($1::json) r(run uuid, name text)`,
    [JSON.stringify(events)],
  );
  return written.map(({ id }) => id);
}

function statusOf({ status, started, ended }: PastAttempt): StepStatus {
  return status ?? (ended !== undefined ? 'completed' : started !== undefined ? 'in_progress' : 'scheduled');
}

const ENDS: Partial<Record<StepStatus, string>> = {
  completed: 'step_completed',
  failed: 'step_failed',
  skipped: 'step_skipped',
};

function trailOf({ status, attempts }: PastRun): string[] {
  const trail = ['started'];
  for (const [place, attempt] of attempts.entries()) {
    const stands = statusOf(attempt);
    trail.push('step_scheduled');
    if (attempt.started !== undefined) trail.push('step_started');
    if (stands === 'waiting') trail.push('step_waiting');
    const end = attempt.outcome === 'reattempted' ? 'step_reattempted' : ENDS[stands];
    if (end) trail.push(end);
    if (attempt.outcome === 'paused' && place < attempts.length - 1) trail.push('paused', 'resumed');
  }
  if (status === 'paused' || status === 'finished' || status === 'cancelled') trail.push(status);
  return trail;
}

/** A run of one step that began, and took so long. */
export function ran(workflow: string, ended: number, took: number, step: Partial<PastAttempt> = {}): PastRun {
  const started = ended - took;
  return {
    class: workflow,
    created: started,
    ended,
    status: 'finished',
    attempts: [{ step: 'one', due: started, started, ended, ...step }],
  };
}
