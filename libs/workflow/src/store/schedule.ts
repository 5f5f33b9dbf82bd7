/** Which step is to run next, and when: written from the class, read by every statement that opens a row. */
export interface Schedule {
  readonly step: string;
  /** The workflow's name: what a worker must have loaded to claim the row. */
  readonly handler: string;
  readonly queue: string;
  readonly priority: number;
  /** Milliseconds after the end of the step before, or the run's start. */
  readonly wait: number;
  /** Milliseconds from now that the row is held back at least. */
  readonly holdBack: number;
  /** Not before this moment. */
  readonly notBefore: Date | null;
}

/**
 * When the row is due, as SQL: the latest of what the schedule says, never before now. Each argument is an SQL expression.
 */
export function dueAt(sql: { base: string; wait: string; holdBack: string; notBefore: string }): string {
  return `greatest(
    statement_timestamp(),
    ${sql.base} + ${sql.wait}::float8 * interval '1 millisecond',
    statement_timestamp() + ${sql.holdBack}::float8 * interval '1 millisecond',
    ${sql.notBefore}::timestamptz)`;
}

/** The next attempt's number, as SQL. Safe under the run's lock only. */
export function nextAttempt(steps: string, workflowId: string, step: string): string {
  return `coalesce((select max(p.attempt) from ${steps} p
      where p.workflow_id = ${workflowId} and p.step_name = ${step} and p.member_index = -1), 0) + 1`;
}
