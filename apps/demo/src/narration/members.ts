import { WorkflowStep, type WorkflowHandle } from 'nestjs-pg-workflows';
import { DataSource, IsNull, Not } from 'typeorm';
import type { Scene } from './scene';

/** The jobs that the run's fan-out handed out: rows like those of steps, with the fan-out's as their parent. */
export function membersOf({ app }: Scene, run: WorkflowHandle): Promise<WorkflowStep[]> {
  return app.get(DataSource).manager.find(WorkflowStep, {
    where: { workflowId: run.id, parentStepId: Not(IsNull()) },
    order: { memberIndex: 'asc' },
  });
}

/** Those that failed for good. */
export async function deadLettered(scene: Scene, run: WorkflowHandle): Promise<WorkflowStep[]> {
  return (await membersOf(scene, run)).filter(({ status }) => status === 'failed');
}
