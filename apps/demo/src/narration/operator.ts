import { WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { setTimeout as pause } from 'node:timers/promises';
import { Carrier } from '../orders/carrier';
import type { Scene } from './scene';
import { until } from './patience';
import { say } from './voice';

export const OPERATOR = { actor: 'operator:olga', reason: 'the storm is over, the carrier sails again' };

/** Olga finds a paused run, reads why, mends the cause, and resumes it. Her name and reason stay on the audit trail. */
export async function operate({ app, runs }: Scene): Promise<WorkflowHandle | null> {
  const paused = await until(() => runs.findOneBy({ status: 'paused' }));
  if (!paused) return null;
  await pause(500); // nobody looks at once

  const run = await app.get(WorkflowService).find(paused.id);
  const [failed] = (await run.steps()).filter(({ error }) => error).slice(-1);
  say('olga', `finds ${run.subject?.type} ${run.subject?.id} paused at "${run.currentStep}", since:`);
  say('olga', `  ${failed?.error?.class}: ${failed?.error?.message}`);
  say('olga', `  she may: ${run.availableActions.join(', ')}`);

  await pause(1000); // on the telephone
  app.get(Carrier, { strict: false }).reopen('Tórshavn');
  await run.resume(OPERATOR);
  say('olga', 'called the carrier, and resumes the run');
  return run;
}
