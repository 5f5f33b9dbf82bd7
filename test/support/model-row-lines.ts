/** A row of `workflow_steps`, with what the database says of its times. */
export interface StepRow {
  readonly workflow_id: string;
  readonly step_name: string;
  readonly attempt: number;
  readonly member_index: number;
  readonly status: string;
  readonly outcome: string | null;
  readonly error_class: string | null;
  /** Null: nobody may claim it. */
  readonly due: boolean | null;
  readonly timed_out: boolean;
  readonly batch_size: number | null;
  readonly stopped_timeout_at: Date | null;
  /** Null: it has no deadline now. */
  readonly passed: boolean | null;
  readonly job_attempt: number;
}

/** As the model writes it. */
export function lineOf(row: StepRow, run: number): string {
  const label = `${row.step_name}#${row.attempt}`;
  if (row.member_index >= 0) return `    ${run} ${label} [${row.member_index}] ${row.status} try ${row.job_attempt}`;
  const parts: (string | null)[] = [label, row.status, row.outcome, row.error_class];
  if (row.status === 'scheduled') {
    parts.push(row.due === null ? 'held' : row.due ? 'due' : 'later', row.timed_out ? 'timed out' : null);
  }
  if (row.status === 'waiting' && row.batch_size === null) {
    const deadline = row.passed === null ? 'no deadline' : row.passed ? 'passed' : 'ahead';
    parts.push(row.stopped_timeout_at === null ? deadline : 'stopped');
  }
  return `  ${parts.filter(Boolean).join(' ')}`;
}
