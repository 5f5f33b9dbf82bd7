import type { Connection } from '../store/connection.js';
import { epochMs, toMoment } from './moments.js';
import type { PauseView } from './views.js';

/** A page shows so many, the newest. */
const MOST = 100;

interface PauseRow {
  readonly paused_at: number;
  readonly until: number | null;
}

/** The stretches for which the run was paused, as its trail tells, oldest first: the newest hundred. */
export async function pausesOf(connection: Connection, workflowId: string): Promise<PauseView[]> {
  const rows = await connection.ask<PauseRow>(
    (t) => `with turn as materialized (
  select e.id, e.name, ${epochMs('e.created_at')} as at from ${t.events} e
  where e.workflow_id = $1::uuid and e.name in ('paused', 'resumed', 'finished', 'cancelled')
), stretch as (
  select turn.id, turn.name, turn.at as paused_at, lead(turn.at) over (order by turn.id) as until from turn
)
select stretch.paused_at, stretch.until from stretch where stretch.name = 'paused' order by stretch.id desc limit ${MOST}`,
    [workflowId],
  );
  return rows.toReversed().map(({ paused_at, until }) => ({ from: toMoment(paused_at), to: toMoment(until) }));
}
