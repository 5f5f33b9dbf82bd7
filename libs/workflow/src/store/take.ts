import type { Connection } from './connection.js';
import { statement, statusIs } from './statement.js';
import type { WorkerIdentity } from './claim.js';

/**
 * Takes one guarded row whose run's lock is held: row in progress, run performing. With `started` the body is about to run
 * and the trail says so; without, a guard threw and only the policies will.
 */
const TAKE = statement(
  'take',
  (t) => `
with taken as (
  update ${t.steps} s
  set status = 'in_progress', started_at = statement_timestamp(), claim_no = s.claim_no + 1, worker_id = $3, worker = $4,
      app_revision = $5, lease_expires_at = statement_timestamp() + $6::float8 * interval '1 millisecond'
  where s.id = $1::bigint and ${statusIs('s.status', `'scheduled'`)}
  returning s.id, s.claim_no
), runs as (
  update ${t.runs} w set status = 'performing', updated_at = statement_timestamp()
  where w.id = $2::uuid and exists (select from taken)
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor)
  select $2::uuid, id, 'step_started', 'system' from taken where $7::bool
)
select claim_no from taken`,
);

/** Returns the claim's number; undefined when the row is no longer scheduled. */
export async function takeRow(
  connection: Connection,
  row: { id: string; workflowId: string },
  worker: WorkerIdentity,
  started: boolean,
): Promise<number | undefined> {
  const [taken] = await connection.run<{ claim_no: number }>(TAKE, [
    row.id,
    row.workflowId,
    worker.id,
    worker.label,
    worker.appRevision,
    worker.lease,
    started,
  ]);
  return taken?.claim_no;
}
