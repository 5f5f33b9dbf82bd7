import type { WorkflowHandle } from 'nestjs-pg-workflows';
import type { Suite } from './suite';

type Sql = Suite['sql'];

/** A run's attempts in the order in which they were scheduled, one line each: `one 1 completed`. */
export async function attemptsOf(sql: Sql, run: WorkflowHandle | string): Promise<string[]> {
  const rows = await sql<{ line: string }>(
    `select concat_ws(' ', step_name, attempt, status) as line from workflow_steps
     where workflow_id = $1 and member_index = -1 order by id`,
    [typeof run === 'string' ? run : run.id],
  );
  return rows.map(({ line }) => line);
}

/** A run's newest attempt, whole. */
export async function newestRow(sql: Sql, run: WorkflowHandle): Promise<Record<string, any>> {
  const [row] = await sql('select * from workflow_steps where workflow_id = $1 order by id desc limit 1', [run.id]);
  return row;
}

const TABLES = ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals'];

/** Every row of the four tables, with the transaction that wrote it: an update that changes nothing shows too. */
export async function allRows(sql: Sql): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const table of TABLES)
    rows[table] = await sql(`select xmin::text as written_by, t.* from ${table} t order by id`);
  return rows;
}

/** Makes a run that no worker has touched wait, as a step with a `waitFor` would: in rows and trail. */
export async function makeWait(sql: Sql, run: WorkflowHandle): Promise<void> {
  await sql(
    `with parked as (
       update workflow_steps set status = 'waiting', wait_for = 'go', waiting_since = statement_timestamp()
       where workflow_id = $1 and status = 'scheduled' returning id
     ), run as (
       update workflows set status = 'waiting' where id = $1
     )
     insert into workflow_events (workflow_id, step_id, name, actor, details)
     select $1, id, 'step_waiting', 'system', '{"wait_for": "go"}' from parked`,
    [run.id],
  );
}
