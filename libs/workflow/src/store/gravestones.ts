import type { Connection } from './connection.js';
import { statement } from './statement.js';

const COUNT = statement(
  'ongoing_on_steps',
  (t) => `select w.current_step, count(*)::int as runs from ${t.runs} w
  where w.workflow_class = $1 and w.ended_at is null and w.current_step = any($2::text[]) group by w.current_step`,
);

/** How many ongoing runs of the class stand on each of these steps; a step without any is missing. */
export async function ongoingOnSteps(
  connection: Connection,
  workflow: string,
  steps: readonly string[],
): Promise<Map<string, number>> {
  const rows = await connection.run<{ current_step: string; runs: number }>(COUNT, [workflow, steps]);
  return new Map(rows.map(({ current_step, runs }) => [current_step, runs]));
}
