import type { Connection } from './connection.js';
import { sqlStateOf } from './sql-state.js';
import { statement, statusIs } from './statement.js';
import { LockTimeoutError } from '../errors.js';
import { sourceOf, type RunStatus, type StepStatus } from '../model/states.js';

/** A run as the engine reads it. */
export interface RunRow {
  readonly id: string;
  readonly workflow_class: string;
  readonly subject_type: string | null;
  readonly subject_id: string | null;
  readonly arguments: unknown;
  readonly status: RunStatus;
  readonly current_step: string;
  readonly definition_digest: string;
  readonly rerun_of: string | null;
}

/** Before every run's id. */
export const FIRST_RUN = '00000000-0000-0000-0000-000000000000';

export const RUN_COLUMNS = `w.id, w.workflow_class, w.subject_type, w.subject_id, w.arguments, w.status, w.current_step,
  w.definition_digest, w.rerun_of`;

/** An attempt as the engine reads it. */
export interface StepRow {
  readonly id: string;
  readonly step_name: string;
  readonly attempt: number;
  readonly status: StepStatus;
  readonly claim_no: number;
  readonly worker_id: string | null;
  readonly queue: string;
  readonly priority: number;
  /** Its time has come. */
  readonly due: boolean;
  /** Woken by its wait's deadline. */
  readonly timed_out: boolean;
  /** What it waits or waited for, in words. */
  readonly wait_for: string | null;
  /** How many members it opened with; null: it is no fan-out, or has not opened. */
  readonly batch_size: number | null;
  /** The wait's deadline, as events write it. */
  readonly timeout_at: string | null;
  /** That deadline has passed. */
  readonly timeout_due: boolean;
}

const STEP_COLUMNS = `s.id, s.step_name, s.attempt, s.status, s.claim_no, s.worker_id, s.queue, s.priority,
  coalesce(s.available_at <= statement_timestamp(), false) as due, s.timed_out, s.wait_for, s.batch_size,
  to_char(s.timeout_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timeout_at,
  coalesce(s.timeout_at <= statement_timestamp(), false) as timeout_due`;

// Locks the run, waiting for whoever holds it.
const LOCK = statement('lock_run', (t) => `select ${RUN_COLUMNS} from ${t.runs} w where w.id = $1 for no key update`);

// Locks the run, or returns nothing when somebody holds it.
const LOCK_FREE = statement(
  'lock_run_if_free',
  (t) => `select ${RUN_COLUMNS} from ${t.runs} w where w.id = $1 for no key update skip locked`,
);

/** A run whose lock is held, and one of its attempts: both read as they are under the lock. */
export interface RunAndRow {
  readonly run: RunRow;
  readonly row: StepRow;
}

type RunAndRowColumns = RunRow & Omit<StepRow, 'id' | 'status'> & { step_id: string; step_status: StepStatus };

const RUN_AND_ROW = `${RUN_COLUMNS}, ${STEP_COLUMNS.replace('s.id,', 's.id as step_id,').replace('s.status,', 's.status as step_status,')}`;

/**
 * Locks the run, then its row, in one statement: both are locked, so both are read again when somebody changed them meanwhile. Without the
 * second lock the row would be read as it was before the first.
 */
const LOCK_DUE = statement(
  'lock_due',
  (t) => `select ${RUN_AND_ROW} from ${t.runs} w, ${t.steps} s
  where w.id = $1::uuid and s.id = $2::bigint and w.status = '${sourceOf('claim')}' and ${statusIs('s.status', `'scheduled'`)}
  for no key update of w, s skip locked`,
);

/** As LOCK_DUE, and waits for whoever holds the run. */
const LOCK_CLAIMED = statement(
  'lock_claimed',
  (t) => `select ${RUN_AND_ROW} from ${t.runs} w, ${t.steps} s
  where w.id = $1::uuid and s.id = $2::bigint and ${statusIs('s.status', `'in_progress'`)} and s.claim_no = $3::int
  for no key update of w, s`,
);

/** Takes the lock of a run with its scheduled row, if nobody has it. */
export async function lockDueRow(
  connection: Connection,
  due: { id: string; workflowId: string },
): Promise<RunAndRow | undefined> {
  return apart(await connection.run<RunAndRowColumns>(LOCK_DUE, [due.workflowId, due.id]));
}

/** Takes the lock of a run with its row in progress under that claim; undefined when there is no such row any more. */
export async function lockClaimedRow(
  connection: Connection,
  claimed: { id: string; workflowId: string; claimNo: number },
): Promise<RunAndRow | undefined> {
  return apart(await connection.run<RunAndRowColumns>(LOCK_CLAIMED, [claimed.workflowId, claimed.id, claimed.claimNo]));
}

function apart([both]: readonly RunAndRowColumns[]): RunAndRow | undefined {
  return both && { run: both, row: { ...both, id: both.step_id, status: both.step_status } };
}

const SET_LOCK_TIMEOUT = statement(
  'lock_timeout',
  () => `select current_setting('lock_timeout') as was, set_config('lock_timeout', $1, true)`,
);

/**
 * Takes the run's lock, `for no key update`: it does not block the foreign-key checks of inserts. What is decided under it is
 * read by a statement sent after this one: this one's snapshot is older than the lock.
 */
export async function lockRun(connection: Connection, id: string, lockTimeout?: number): Promise<RunRow | undefined> {
  if (lockTimeout === undefined) return (await connection.run<RunRow>(LOCK, [id]))[0];
  await connection.command('savepoint wf_lock');
  try {
    const [setting] = await connection.run<{ was: string }>(SET_LOCK_TIMEOUT, [
      `${Math.max(1, Math.round(lockTimeout))}ms`,
    ]);
    const [run] = await connection.run<RunRow>(LOCK, [id]);
    await connection.run(SET_LOCK_TIMEOUT, [setting!.was]);
    await connection.command('release savepoint wf_lock');
    return run;
  } catch (error) {
    await connection.command('rollback to savepoint wf_lock; release savepoint wf_lock');
    if (sqlStateOf(error) !== '55P03') throw error;
    throw new LockTimeoutError(
      `Workflow ${id} was held by somebody else for longer than ${lockTimeout} ms: a guard or another transaction has it. ` +
        'Nothing was changed; try again.',
      { cause: error },
    );
  }
}

/** Takes the run's lock if nobody has it. */
export async function lockRunIfFree(connection: Connection, id: string): Promise<RunRow | undefined> {
  return (await connection.run<RunRow>(LOCK_FREE, [id]))[0];
}

const BY_ID = statement('run_by_id', (t) => `select ${RUN_COLUMNS} from ${t.runs} w where w.id = $1`);

/** The run as it is now, without its lock. */
export async function runById(connection: Connection, id: string): Promise<RunRow | undefined> {
  return (await connection.run<RunRow>(BY_ID, [id]))[0];
}

const STATUS = statement('run_status', (t) => `select w.status from ${t.runs} w where w.id = $1`);

/** Where the run stands; null: there is none. */
export async function runStatus(connection: Connection, id: string): Promise<RunStatus | null> {
  return (await connection.run<{ status: RunStatus }>(STATUS, [id]))[0]?.status ?? null;
}

const CURRENT_ROW = statement(
  'current_row',
  (t) => `select ${STEP_COLUMNS} from ${t.steps} s
  where s.workflow_id = $1 and s.step_name = $2 and s.member_index = -1 order by s.attempt desc limit 1`,
);

/** The newest attempt of the run's current step: its open row, when it has one. */
export async function currentRow(connection: Connection, run: RunRow): Promise<StepRow | undefined> {
  return (await connection.run<StepRow>(CURRENT_ROW, [run.id, run.current_step]))[0];
}

const ROW = statement('row', (t) => `select ${STEP_COLUMNS} from ${t.steps} s where s.id = $1`);

/** One attempt. */
export async function stepRow(connection: Connection, id: string): Promise<StepRow | undefined> {
  return (await connection.run<StepRow>(ROW, [id]))[0];
}

const LATE = statement(
  'late_completion',
  (t) => `insert into ${t.events} (workflow_id, step_id, name, actor)
  select w.id, $2, 'late_completion_ignored', 'system' from ${t.runs} w where w.id = $1`,
);

/** Notes an outcome that nobody wanted any more; nothing when the run itself is gone. */
export async function recordLateCompletion(connection: Connection, workflowId: string, stepId: string): Promise<void> {
  await connection.run(LATE, [workflowId, stepId]);
}
