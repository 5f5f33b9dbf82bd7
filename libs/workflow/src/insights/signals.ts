import { readable } from '../model/payload.js';
import type { SignalStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';
import { epochMs, toMoment } from './moments.js';
import type { SignalView } from './views.js';

/** A page shows so many, the newest. */
const MOST = 100;

type SignalRow = Omit<SignalView, 'created_at'> & { readonly status: SignalStatus; readonly created_at: number };

/** The newest hundred signals that the run was sent, newest first. */
export async function signalsOf(connection: Connection, workflowId: string): Promise<SignalView[]> {
  const rows = await connection.ask<SignalRow>(
    (
      t,
    ) => `select g.id, g.name, g.payload, g.idempotency_key, g.status, g.claimed_by_step_id, ${epochMs('g.created_at')} as created_at
from ${t.signals} g where g.workflow_id = $1::uuid order by g.id desc limit ${MOST}`,
    [workflowId],
  );
  return rows.map(({ id, name, payload, idempotency_key, status, claimed_by_step_id, created_at }) => ({
    id,
    name,
    payload: readable(payload),
    idempotency_key,
    status,
    claimed_by_step_id,
    created_at: toMoment(created_at),
  }));
}
