import type { WorkflowHandle } from 'nestjs-pg-workflows';

/** A run as JSON: where it stands, what may be done with it, and how it came here. */
export async function viewOf(run: WorkflowHandle) {
  const [steps, events, signals] = [await run.steps(), await run.events(), await run.signals()];
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
    signals: signals.map(({ name, payload, status, createdAt }) => ({ name, payload, status, at: createdAt })),
    events: events.map(({ createdAt, name, stepName, actor, reason, details }) => ({
      at: createdAt,
      name,
      step: stepName,
      actor,
      reason,
      details,
    })),
  };
}
