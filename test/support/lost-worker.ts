import type { WorkflowHandle } from 'nestjs-pg-workflows';
import type { Suite } from './suite';

/**
 * Makes a run that no worker has touched look as a worker that is lost leaves it: its step in progress, under a worker that is no more, with
 * a lease that lapsed a while ago.
 */
export async function leaveInProgress(sql: Suite['sql'], run: WorkflowHandle): Promise<void> {
  const rows = await sql(
    `with taken as (
       update workflow_steps
       set status = 'in_progress', available_at = null, started_at = statement_timestamp() - interval '1 minute',
           worker_id = gen_random_uuid(), worker = 'lost:1', claim_no = claim_no + 1,
           lease_expires_at = statement_timestamp() - interval '30 seconds'
       where workflow_id = $1 and status = 'scheduled' returning id, step_name, attempt
     ), run as (
       update workflows set status = 'performing' where id = $1
     )
     insert into workflow_events (workflow_id, step_id, name, actor, details)
     select $1, id, 'step_started', 'system', json_build_object('step', step_name, 'attempt', attempt) from taken
     returning id`,
    [run.id],
  );
  if (rows.length !== 1) throw new Error(`Workflow ${run.id} has no scheduled step to leave in progress`);
}

/** How many rows are in progress under a lease that has not lapsed. */
export async function heldLeases(sql: Suite['sql']): Promise<number> {
  const [row] = await sql<{ held: number }>(
    `select count(*)::int as held from workflow_steps where status = 'in_progress' and lease_expires_at > statement_timestamp()`,
  );
  return row.held;
}

/** The runs of which a step was declared stalled. */
export async function stalledRuns(sql: Suite['sql']): Promise<string[]> {
  const rows = await sql<{ id: string }>(
    `select distinct workflow_id::text as id from workflow_events where name = 'stall_detected'`,
  );
  return rows.map(({ id }) => id);
}
