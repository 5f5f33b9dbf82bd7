import { WorkflowRuntime } from '../../libs/workflow/src/workflow.runtime';
import type { Suite, TestApp } from './suite';

type Sql = Suite['sql'];

/** A worker that claims nothing of what tests start: it sweeps, judges leases, and leaves rows where they are. */
export const CLAIMS_NOTHING = { queues: ['nobody'] };

/** Sweeps now, in this application's worker. */
export async function sweep(...apps: readonly Pick<TestApp, 'app'>[]): Promise<void> {
  for (const { app } of apps) await app.get(WorkflowRuntime).sweep();
}

/** Makes the run's attempt in progress one that was claimed so long ago. */
export async function startedAgo(sql: Sql, run: { id: string }, ago: string): Promise<void> {
  const rows = await sql(
    `with moved as (
       update workflow_steps set started_at = statement_timestamp() - $2::interval
       where workflow_id = $1 and member_index = -1 and status = 'in_progress' returning id
     ) select id from moved`,
    [run.id, ago],
  );
  if (rows.length !== 1) throw new Error(`Workflow ${run.id} has no attempt in progress`);
}

/** Leaves the first steps of runs that no worker has touched as `leaveInProgress` does. Their ids, in the order of their steps'. */
export async function leaveAllInProgress(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }>(
    `with taken as (
       update workflow_steps
       set status = 'in_progress', available_at = null, started_at = statement_timestamp() - interval '1 minute',
           worker_id = gen_random_uuid(), worker = 'lost:1', claim_no = claim_no + 1,
           lease_expires_at = statement_timestamp() - interval '30 seconds'
       where workflow_id = any($1::uuid[]) and status = 'scheduled' returning id, workflow_id
     ), runs as (
       update workflows set status = 'performing' where id = any($1::uuid[])
     ), trail as (
       insert into workflow_events (workflow_id, step_id, name, actor)
       select workflow_id, id, 'step_started', 'system' from taken
     )
     select workflow_id as id from taken order by taken.id`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Makes runs that no worker has touched wait, as their step's `waitFor` would. */
export async function parkAll(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql(
    `with parked as (
       update workflow_steps set status = 'waiting', available_at = null, wait_for = 'go', waiting_since = statement_timestamp()
       where workflow_id = any($1::uuid[]) and status = 'scheduled' returning id, workflow_id
     ), runs as (
       update workflows set status = 'waiting' where id = any($1::uuid[])
     )
     insert into workflow_events (workflow_id, step_id, name, actor, details)
     select workflow_id, id, 'step_waiting', 'system', '{"wait_for": "go"}' from parked`,
    [ids],
  );
}

/**
 * Leaves members of the run as a worker that is lost leaves them: claimed for the `attempt`th time a minute ago, under a lease that lapsed.
 */
export async function leaveMembersInProgress(
  sql: Sql,
  run: { id: string },
  members: readonly number[],
  attempt = 1,
): Promise<void> {
  const rows = await sql(
    `with taken as (
       update workflow_steps
       set status = 'in_progress', started_at = statement_timestamp() - interval '1 minute', worker_id = gen_random_uuid(), worker = 'lost:1',
           claim_no = claim_no + 1, job_attempt = $3, lease_expires_at = statement_timestamp() - interval '30 seconds'
       where workflow_id = $1 and member_index = any($2::int[]) and status = 'scheduled' returning id
     ) select id from taken`,
    [run.id, members, attempt],
  );
  if (rows.length !== members.length) throw new Error(`Workflow ${run.id} has not all of these members scheduled`);
}

/** The run's events from the first stall on, with what they say of it: `stall_detected sweep by system`. */
export async function stallTrail(sql: Sql, run: { id: string }): Promise<string[]> {
  const rows = await sql<{ line: string }>(
    `select concat_ws(' ', name, details->>'detection', 'by ' || actor) as line from workflow_events e
     where workflow_id = $1 and id >= (
       select min(id) from workflow_events where workflow_id = $1 and name = 'stall_detected')
     order by id`,
    [run.id],
  );
  return rows.map(({ line }) => line);
}
