import type { StepOutcome } from '../model/states.js';
import type { Connection } from './connection.js';
import { statement } from './statement.js';

const REATTEMPTS = statement(
  'reattempts',
  (t) => `select coalesce(s.outcome = 'reattempted', false) as reattempted from ${t.steps} s
  where s.workflow_id = $1::uuid and s.step_name = $2 and s.member_index = -1 and s.attempt < $3::int
  order by s.attempt desc limit $4::int`,
);

/** How many attempts of the step just before this one ended as reattempted, counted to `most`. */
export async function consecutiveReattempts(
  connection: Connection,
  attempt: { workflowId: string; stepName: string; attempt: number },
  most: number,
): Promise<number> {
  const rows = await connection.run<{ reattempted: boolean }>(REATTEMPTS, [
    attempt.workflowId,
    attempt.stepName,
    attempt.attempt,
    most,
  ]);
  const broken = rows.findIndex((row) => !row.reattempted);
  return broken < 0 ? rows.length : broken;
}

const OUTPUTS = statement(
  'outputs',
  (t) => `select distinct on (s.step_name) s.step_name, s.output from ${t.steps} s
  where s.workflow_id = $1::uuid and s.member_index = -1 and s.status = 'completed' and ($2::text is null or s.step_name = $2)
  order by s.step_name, s.attempt desc`,
);

/** The stored output of the newest completed attempt of each step, or of the one named. */
export function completedOutputs(
  connection: Connection,
  workflowId: string,
  step: string | null,
): Promise<{ step_name: string; output: unknown }[]> {
  return connection.run(OUTPUTS, [workflowId, step]);
}

/** How an attempt ended, as far as it has. */
export interface AttemptEnd {
  readonly claim_no: number;
  readonly outcome: StepOutcome | null;
  readonly error_class: string | null;
  readonly error_message: string | null;
  readonly batch_size: number | null;
}

const END = statement(
  'attempt_end',
  (t) =>
    `select s.claim_no, s.outcome, s.error_class, s.error_message, s.batch_size from ${t.steps} s where s.id = $1::bigint`,
);

export async function attemptEnd(connection: Connection, stepId: string): Promise<AttemptEnd | undefined> {
  return (await connection.run<AttemptEnd>(END, [stepId]))[0];
}
