import { WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { subjectOf } from './runs';
import type { Scene } from './scene';
import { headline, table } from './voice';

/** One run's audit trail: everything that happened to it, who did it and why. */
export async function reportTrail(run: WorkflowHandle): Promise<void> {
  const [events, steps] = [await run.events(), await run.steps()];
  const begun = events[0]?.createdAt.getTime() ?? 0;
  headline(`The audit trail of ${run.subject?.type} ${run.subject?.id} (workflow ${run.id})`);
  table(
    ['after', 'event', 'step', 'by', 'why'],
    events.map(({ createdAt, name, stepId, actor, reason }) => {
      const step = steps.find(({ id }) => id === stepId);
      return [
        `${((createdAt.getTime() - begun) / 1000).toFixed(2)} s`,
        name,
        step ? `${step.stepName} #${step.attempt}` : '',
        actor,
        reason ?? (name === 'step_failed' && step?.error ? `${step.error.class}: ${step.error.message}` : ''),
      ];
    }),
  );
}

export async function reportRuns({ app, runs }: Scene): Promise<void> {
  headline('The runs');
  const rows: string[][] = [];
  for (const run of await runs.find({ order: { id: 'asc' } })) {
    const steps = await (await app.get(WorkflowService).find(run.id)).steps();
    const failed = steps.filter(({ status }) => status === 'failed');
    rows.push([
      run.id,
      run.workflowClass,
      subjectOf(run),
      run.status,
      run.currentStep,
      String(steps.length),
      [...new Set(failed.map(({ error }) => error?.class ?? ''))].join(', '),
    ]);
  }
  table(['workflow', 'class', 'about', 'status', 'last step', 'attempts', 'failed with'], rows);
}
