import type { WorkflowHandle } from 'nestjs-pg-workflows';

/** A run as JSON: where it stands, what may be done with it, and how it came here. */
export async function viewOf(run: WorkflowHandle) {
  const [steps, events] = [await run.steps(), await run.events()];
  return {
    id: run.id,
    workflow: run.workflowName,
    subject: run.subject,
    status: run.status,
    currentStep: run.currentStep,
    availableActions: run.availableActions,
    steps: steps.map(({ stepName, attempt, status, outcome, scheduledAt, startedAt, finishedAt, output, error }) => ({
      step: stepName,
      attempt,
      status,
      outcome,
      scheduledAt,
      startedAt,
      finishedAt,
      output,
      error: error && `${error.class}: ${error.message}`,
    })),
    events: events.map(({ createdAt, name, actor, reason }) => ({ at: createdAt, name, actor, reason })),
  };
}
