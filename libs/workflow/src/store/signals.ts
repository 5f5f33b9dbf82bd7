import type { Connection } from './connection.js';
import { RUN_COLUMNS, type RunRow } from './run.js';
import { padded, statement, statusIs } from './statement.js';
import { ROW_KEY } from './step-key.js';
import { sourceOf, type SignalStatus } from '../model/states.js';

/** A signal as the engine reads it. */
export interface SignalRow {
  readonly id: string;
  readonly workflow_id: string;
  readonly name: string;
  /** As stored. */
  readonly payload: unknown;
  readonly idempotency_key: string | null;
  readonly status: SignalStatus;
  readonly claimed_by_step_id: string | null;
}

const COLUMNS = `g.id, g.workflow_id, g.name, g.payload, g.idempotency_key, g.status, g.claimed_by_step_id`;

const BY_KEY = statement(
  'signal_by_key',
  (t) => `select ${COLUMNS} from ${t.signals} g where g.workflow_id = $1::uuid and g.idempotency_key = $2`,
);

/** The signal that was delivered to the run under this key. */
export async function signalByKey(
  connection: Connection,
  workflowId: string,
  key: string,
): Promise<SignalRow | undefined> {
  return (await connection.run<SignalRow>(BY_KEY, [workflowId, key]))[0];
}

const PENDING = statement(
  'pending_signals',
  (t) =>
    `select ${COLUMNS} from ${t.signals} g where g.workflow_id = $1::uuid and g.status = 'pending' and g.id > $2::bigint order by g.id limit 100`,
);

/** What no step took yet, oldest first: up to 100 that came after the one named. */
export function pendingSignals(connection: Connection, workflowId: string, after: string): Promise<SignalRow[]> {
  return connection.run(PENDING, [workflowId, after]);
}

const HELD = statement(
  'held_signal',
  (t) => `select ${COLUMNS} from ${t.signals} g join ${t.steps} s on s.id = g.claimed_by_step_id
  where g.workflow_id = $1::uuid and g.status = 'claimed' and s.step_name = $2 order by g.id limit 1`,
);

/** The signal that an attempt of the step took, and that no attempt has used up yet. */
export async function heldSignal(
  connection: Connection,
  workflowId: string,
  step: string,
): Promise<SignalRow | undefined> {
  return (await connection.run<SignalRow>(HELD, [workflowId, step]))[0];
}

const CLAIM = statement(
  'claim_signal',
  (t) => `
with claimed as (
  update ${t.signals} g set status = 'claimed', claimed_by_step_id = $2::bigint,
                            claimed_at = coalesce(g.claimed_at, statement_timestamp())
  where g.id = $1::bigint and g.status <> 'consumed' returning g.id, g.workflow_id, g.name
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, details)
  select workflow_id, $2::bigint, 'signal_claimed', 'system', json_build_object('name', name)
  from claimed where $3::bool
)
select id from claimed`,
);

/** Gives the signal to an attempt. `announced`: it is the first to have it, and the trail says so. */
export async function claimSignal(
  connection: Connection,
  signalId: string,
  stepId: string,
  announced: boolean,
): Promise<void> {
  await connection.run(CLAIM, [signalId, stepId, announced]);
}

/** What a delivery stores. */
export interface NewSignal {
  readonly workflowId: string;
  readonly name: string;
  /** As stored: JSON text. */
  readonly payload: string;
  readonly idempotencyKey: string | null;
  readonly actor: string;
  readonly reason: string | null;
}

const INSERT = statement(
  'insert_signal',
  (t) => `
with stored as (
  insert into ${t.signals} as g (workflow_id, name, payload, idempotency_key)
  values ($1::uuid, $2, $3::json, $4) returning ${COLUMNS}
), touched as (
  update ${t.runs} set updated_at = statement_timestamp() where id = $1::uuid
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, reason, details)
  select workflow_id, null, 'signal_received', $5, $6,
         json_build_object('name', name, 'idempotency_key', idempotency_key, 'duplicate', false) from stored
)
select * from stored`,
);

/** Stores a signal as pending. The caller holds the run's lock, and looked for the key. */
export async function insertSignal(connection: Connection, signal: NewSignal): Promise<SignalRow> {
  const { workflowId, name, payload, idempotencyKey, actor, reason } = signal;
  const [row] = await connection.run<SignalRow>(INSERT, [workflowId, name, payload, idempotencyKey, actor, reason]);
  return row!;
}

/** A run that was woken, as it is then, and its signal. */
export interface Woken {
  readonly run: RunRow;
  readonly signal: SignalRow;
  readonly queue: string;
  readonly priority: number;
}

type WokenColumns = RunRow & {
  queue: string;
  priority: number;
  signal_id: string;
  step_id: string;
  payload: unknown;
};

/**
 * Stores a signal as the one that a waiting step takes, and wakes that: in one statement, whose conditions are those of the rows it locks
 * and updates, so that they are read again after the lock was waited for. $2 are the steps that take a signal for its name alone, as
 * `stepKey` writes them.
 *
 * Locks: the run, then its row.
 */
const WAKE = statement(
  'wake',
  (t) => `
with held as materialized (
  select ${RUN_COLUMNS} from ${t.runs} w where w.id = $1::uuid and w.status = '${sourceOf('wake')}' for no key update
), woken as (
  update ${t.steps} s
  set status = 'scheduled', scheduled_at = statement_timestamp(), available_at = statement_timestamp(),
      timeout_at = null, stopped_timeout_at = null
  from held h
  where s.workflow_id = $1::uuid and s.step_name = h.current_step and s.member_index = -1 and ${statusIs('s.status', `'waiting'`)}
    and s.batch_size is null and ${ROW_KEY} = any($2::text[])
    and not exists (select from ${t.signals} g where g.workflow_id = $1::uuid and g.idempotency_key = $5::text)
  returning s.id, s.queue, s.priority
), stored as (
  insert into ${t.signals} as g (workflow_id, name, payload, idempotency_key, status, claimed_by_step_id, claimed_at)
  select $1::uuid, $3::text, $4::json, $5::text, 'claimed', woken.id, statement_timestamp() from woken
  returning g.id, g.workflow_id, g.name, g.payload, g.idempotency_key, g.claimed_by_step_id
), run as (
  update ${t.runs} w set status = 'ready', updated_at = statement_timestamp()
  where w.id = $1::uuid and exists (select from woken)
), trail as (
  insert into ${t.events} (workflow_id, step_id, name, actor, reason, details)
  select workflow_id, null, 'signal_received', $6::text, $7::text,
         json_build_object('name', name, 'idempotency_key', idempotency_key, 'duplicate', false) from stored
  union all
  select workflow_id, claimed_by_step_id, 'signal_claimed', 'system', null, json_build_object('name', name) from stored
)
select h.*, woken.queue, woken.priority, woken.id as step_id, stored.id as signal_id, stored.payload from held h, woken, stored`,
);

/** Wakes the run's step with the signal, when it waits for just that; undefined when it does not: nothing was written. */
export async function wake(
  connection: Connection,
  steps: readonly string[],
  signal: NewSignal,
): Promise<Woken | undefined> {
  const { workflowId, name, payload, idempotencyKey, actor, reason } = signal;
  const values = [workflowId, padded(steps), name, payload, idempotencyKey, actor, reason];
  const [row] = await connection.run<WokenColumns>(WAKE, values);
  if (!row) return undefined;
  return {
    run: { ...row, status: 'ready' },
    queue: row.queue,
    priority: row.priority,
    signal: {
      id: row.signal_id,
      workflow_id: row.id,
      name,
      payload: row.payload,
      idempotency_key: idempotencyKey,
      status: 'claimed',
      claimed_by_step_id: row.step_id,
    },
  };
}

const DUPLICATE = statement(
  'duplicate_signal',
  (t) => `insert into ${t.events} (workflow_id, step_id, name, actor, reason, details)
  values ($1::uuid, null, 'signal_received', $2, $3,
          json_build_object('name', $4::text, 'idempotency_key', $5::text, 'duplicate', true))`,
);

/** Notes on the trail that a delivery came again. */
export async function recordDuplicate(
  connection: Connection,
  signal: SignalRow,
  by: { actor: string; reason: string | null },
): Promise<void> {
  await connection.run(DUPLICATE, [signal.workflow_id, by.actor, by.reason, signal.name, signal.idempotency_key]);
}
