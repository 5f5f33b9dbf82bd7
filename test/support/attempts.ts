import type { WorkflowHandle } from 'nestjs-pg-workflows';

/** The run's attempts, oldest first, one line each: `charge#2 failed, reattempted: GatewayTimeout`. */
export async function attempts(run: WorkflowHandle): Promise<string[]> {
  const rows = await run.steps();
  return rows.map(({ stepName, attempt, status, outcome, error }) => {
    const ended = outcome === null || outcome === status ? status : `${status}, ${outcome}`;
    return `${stepName}#${attempt} ${ended}${error ? `: ${error.class}` : ''}`;
  });
}
