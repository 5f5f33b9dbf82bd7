import type { Connection } from '../store/connection.js';
import { eventText, type TextedEvent } from './event-text.js';
import { epochMs, toMoment } from './moments.js';
import type { EventView } from './views.js';

interface EventRow extends TextedEvent {
  readonly id: string;
  readonly created_at: number;
}

/** A run's events after the one given, oldest first. */
export async function eventsOf(
  connection: Connection,
  workflowId: string,
  after: string,
  limit: number,
): Promise<EventView[]> {
  const rows = await connection.ask<EventRow>(
    (
      t,
    ) => `select e.id, e.name, s.step_name as step, s.attempt, e.actor, e.reason, e.details, ${epochMs('e.created_at')} as created_at
from ${t.events} e left join ${t.steps} s on s.id = e.step_id
where e.workflow_id = $1::uuid and e.id > $2::bigint order by e.id limit $3::int`,
    [workflowId, after, limit],
  );
  return rows.map((row) => ({ ...row, created_at: toMoment(row.created_at), text: eventText(row) }));
}
