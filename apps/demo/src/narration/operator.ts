import {
  FanOutFailedError,
  WaitTimedOutError,
  WorkflowService,
  type WorkflowHandle,
  type WorkflowRun,
} from 'nestjs-pg-workflows';
import { setTimeout as pause } from 'node:timers/promises';
import { In, Not } from 'typeorm';
import { Carrier, RouteClosed } from '../orders/carrier';
import { deadLettered } from './members';
import { until } from './patience';
import type { Scene } from './scene';
import { say } from './voice';

export const OPERATOR = 'operator:olga';

interface Remedy {
  /** What she does about the cause, and why she goes on as she does: it stays on the audit trail. */
  readonly reason: string;
  readonly apply: (scene: Scene, run: WorkflowHandle, by: { actor: string; reason: string }) => Promise<unknown>;
}

/** What she does, by the error that paused the run. */
export const REMEDIES: Readonly<Record<string, Remedy>> = {
  [RouteClosed.name]: {
    reason: 'the storm is over, the carrier sails again',
    apply: ({ app }, run, by) => {
      app.get(Carrier, { strict: false }).reopen('Tórshavn');
      return run.resume(by);
    },
  },
  [FanOutFailedError.name]: {
    reason: 'told the vendor by telephone',
    apply: (_scene, run, by) => run.resumeAt('ship', by),
  },
  [WaitTimedOutError.name]: {
    reason: 'the customer changed his mind',
    // The shop does more than end the run: the goods are free again.
    apply: ({ client }, run, by) => client.post(`/orders/${run.subject?.id}/cancel`, by),
  },
};

/** A run that was paused, by the class of its error. */
export interface Operated {
  readonly error: string;
  readonly run: WorkflowHandle;
}

/** Olga finds paused runs, reads why, mends the cause, and goes on. One run for each remedy she knows: there are no others. */
export async function operate(scene: Scene): Promise<Operated[]> {
  const operated: Operated[] = [];
  while (operated.length < Object.keys(REMEDIES).length) {
    const seen = operated.map(({ run }) => run.id);
    const paused = await until(() => scene.runs.findOneBy({ ...scene.played, status: 'paused', id: Not(In(seen)) }));
    if (!paused) break;
    operated.push(await lookAfter(scene, paused));
  }
  return operated;
}

async function lookAfter(scene: Scene, paused: WorkflowRun): Promise<Operated> {
  await pause(500); // nobody looks at once
  const run = await scene.app.get(WorkflowService).find(paused.id);
  const about = `${run.subject?.type} ${run.subject?.id}`;
  const error = (await run.steps()).at(-1)?.error;
  say('olga', `finds ${about} paused at "${run.currentStep}", since:`);
  say('olga', `  ${error?.class}: ${error?.message}`);
  for (const job of await deadLettered(scene, run)) {
    say('olga', `  after ${job.jobAttempt} tries, ${job.errorClass}: ${job.errorMessage}`);
  }
  say('olga', `  she may: ${run.availableActions.join(', ')}`);

  await pause(500); // on the telephone
  const remedy = REMEDIES[error?.class ?? ''];
  if (!remedy) {
    say('olga', 'does not know what to do');
  } else {
    await remedy.apply(scene, run, { actor: OPERATOR, reason: remedy.reason });
    say('olga', `goes on with ${about}: ${remedy.reason}`);
  }
  return { error: error?.class ?? '', run };
}
