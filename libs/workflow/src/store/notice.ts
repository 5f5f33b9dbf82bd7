import type { Connection } from './connection.js';
import { statement } from './statement.js';

const NOTICE = statement(
  'notice',
  (t) => `
with touched as (
  update ${t.runs} set updated_at = statement_timestamp() where id = $2::uuid
)
insert into ${t.events} (workflow_id, step_id, name, actor, details)
values ($2::uuid, $1::bigint, 'wait_timed_out', 'system', $3::json)`,
);

/** Writes that a wait is late and goes on. */
export async function recordNotice(
  connection: Connection,
  row: { id: string; workflowId: string },
  details: Record<string, unknown>,
): Promise<void> {
  await connection.run(NOTICE, [row.id, row.workflowId, JSON.stringify(details)]);
}
