import type { EntityManager } from 'typeorm';
import type { PastRun } from './past-run';
import type { PastStep } from './past-rows';

/** Writes the runs as they were told. */
export async function writePast(manager: EntityManager, runs: readonly PastRun[]): Promise<void> {
  const steps = runs.flatMap((run) => run.steps.map((step) => ({ run, step })));
  const ids = await newIds(manager, steps.length);
  const idOf = new Map(steps.map(({ step }, place) => [step, ids[place]]));
  const worker = await workerId(manager);

  await manager.query(
    `insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest,
                            created_at, updated_at, paused_at, ended_at)
     select id, class, subject_type, subject_id, args::json, status, step, digest, created, updated, paused, ended
     from json_to_recordset($1::json) r(id uuid, class text, subject_type text, subject_id text, args text, status text, step text, digest text,
                                        created timestamptz, updated timestamptz, paused timestamptz, ended timestamptz)`,
    [JSON.stringify(runs.map(runRow))],
  );
  await manager.query(
    `insert into workflow_steps (id, workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, outcome, queue, scheduled_at, available_at,
                                 started_at, finished_at, claim_no, worker_id, worker, app_revision, wait_for, waiting_since, timeout_at, batch_size, job_name,
                                 job_args, job_attempt, output, error_class, error_message, error_backtrace, error_causes, created_at)
     overriding system value
     select id, run, handler, name, attempt, member, parent, status, outcome, 'default', scheduled, available, started, finished,
            case when started is null then 0 else 1 end, case when started is null then null else $2::uuid end, worker,
            case when started is null then null else revision end, wait_for, waiting_since, timeout, batch_size, job_name, job_args, tries, output,
            error_class, error_message, backtrace, causes, created
     from json_to_recordset($1::json) r(id bigint, run uuid, handler text, name text, attempt int, member int, parent bigint, status text, outcome text,
            scheduled timestamptz, available timestamptz, started timestamptz, finished timestamptz, worker text, revision text, wait_for text,
            waiting_since timestamptz, timeout timestamptz, batch_size int, job_name text, job_args json, tries int, output json, error_class text,
            error_message text, backtrace text, causes json, created timestamptz)`,
    [JSON.stringify(steps.map(({ run, step }) => stepRow(run, step, idOf))), worker],
  );
  const events = runs.flatMap((run) =>
    run.events.map(({ name, step, actor, reason, details, at }) => {
      const told = step?.batchSize && details ? { ...details, batch_id: idOf.get(step) } : details;
      return { run: run.id, step: step && idOf.get(step), name, actor, reason, details: told, at: moment(at) };
    }),
  );
  await manager.query(
    `insert into workflow_events (workflow_id, step_id, name, actor, reason, details, created_at)
     select run, step, name, actor, reason, details, at
     from json_to_recordset($1::json) r(run uuid, step bigint, name text, actor text, reason text, details json, at timestamptz)`,
    [JSON.stringify(events)],
  );
  const signals = runs.flatMap((run) =>
    run.signals.map(({ at, claimedBy, claimed, consumed, ...signal }) => ({
      ...signal,
      run: run.id,
      at: moment(at),
      step: claimedBy && idOf.get(claimedBy),
      claimed: moment(claimed),
      consumed: moment(consumed),
    })),
  );
  await manager.query(
    `insert into workflow_signals (workflow_id, name, payload, idempotency_key, status, claimed_by_step_id, created_at, claimed_at, consumed_at)
     select run, name, payload, key, status, step, at, claimed, consumed
     from json_to_recordset($1::json) r(run uuid, name text, payload json, key text, status text, step bigint, at timestamptz, claimed timestamptz,
                                        consumed timestamptz)`,
    [JSON.stringify(signals)],
  );
}

function runRow({ id, beginning, status, currentStep, now, paused, ended }: PastRun) {
  const { workflow, subject, args, digest, at } = beginning;
  return {
    id, class: workflow, subject_type: subject.type, subject_id: subject.id, args, status, step: currentStep, digest,
    created: moment(at), updated: moment(now), paused: moment(paused), ended: moment(ended),
  }; // prettier-ignore
}

function stepRow(run: PastRun, step: PastStep, idOf: ReadonlyMap<PastStep, string>) {
  const { handler, name, attempt, member, parent, status, outcome, worker, revision, output, error, job } = step;
  return {
    id: idOf.get(step), run: run.id, handler, name, attempt, member, status, outcome, worker, revision, output,
    parent: parent && idOf.get(parent),
    scheduled: moment(step.scheduled), available: moment(step.available), created: moment(step.created),
    started: moment(step.started), finished: moment(step.finished),
    wait_for: step.waitFor, waiting_since: moment(step.waitingSince), timeout: moment(step.timeout),
    batch_size: step.batchSize, job_name: job?.name, job_args: job?.args, tries: job?.tries ?? 0,
    error_class: error?.class, error_message: error?.message, backtrace: error?.backtrace,
    causes: error && (error.causes ?? []),
  }; // prettier-ignore
}

function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

async function newIds(manager: EntityManager, count: number): Promise<string[]> {
  const rows = await manager.query<{ id: string }[]>(
    `select nextval(pg_get_serial_sequence('workflow_steps', 'id'))::text as id from generate_series(1, $1)`,
    [count],
  );
  return rows.map(({ id }) => id);
}

async function workerId(manager: EntityManager): Promise<string> {
  const [{ id }] = await manager.query<[{ id: string }]>('select gen_random_uuid() as id');
  return id;
}
