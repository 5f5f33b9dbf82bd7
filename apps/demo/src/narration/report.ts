import {
  WorkflowService,
  type EventName,
  type EventRecord,
  type WorkflowHandle,
  type WorkflowStep,
} from 'nestjs-pg-workflows';
import type { VendorNotice } from '../orders/notify-vendor.job';
import { detailsOf } from './details';
import { membersOf } from './members';
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
    events.map((event) => {
      const { createdAt, name, stepId, actor, reason } = event;
      const step = steps.find(({ id }) => id === stepId);
      const failure = name === 'step_failed' && step?.error ? `${step.error.class}: ${step.error.message}` : '';
      return [
        `${((createdAt.getTime() - begun) / 1000).toFixed(2)} s`,
        name,
        step ? `${step.stepName} #${step.attempt}` : '',
        actor,
        reason ?? (failure || (SAYS[name]?.(event) ?? '')),
      ];
    }),
  );
}

/** What waits and fan-outs say of themselves. */
const SAYS: Partial<Record<EventName, (event: EventRecord) => string>> = {
  step_waiting: (event) => `for ${detailsOf(event).wait_for ?? 'its jobs'}`,
  signal_received: (event) => `${detailsOf(event).name}${detailsOf(event).duplicate ? ', again' : ''}`,
  signal_claimed: (event) => `${detailsOf(event).name}`,
  wait_timed_out: (event) => `no ${detailsOf(event).wait_for}: ${detailsOf(event).action}`,
  fan_out_opened: (event) => `${detailsOf(event).size} jobs`,
  fan_out_finished: (event) => `${detailsOf(event).failed_jobs} of ${detailsOf(event).total_jobs} jobs failed`,
};

/** The jobs of one run's fan-out. */
export async function reportBatch(scene: Scene, run: WorkflowHandle): Promise<void> {
  headline(`The jobs that ${run.subject?.type} ${run.subject?.id} handed out`);
  table(
    ['step', 'job', 'for', 'status', 'tries', 'error'],
    (await membersOf(scene, run)).map((job) => [
      job.stepName,
      job.jobName ?? '',
      vendorOf(job),
      job.status,
      String(job.jobAttempt),
      job.errorClass ? `${job.errorClass}: ${job.errorMessage}` : '',
    ]),
  );
}

function vendorOf({ jobArgs }: WorkflowStep): string {
  return (jobArgs as VendorNotice).vendor;
}

export async function reportRuns({ app, runs, played }: Scene): Promise<void> {
  headline('The runs');
  const rows: string[][] = [];
  for (const run of await runs.find({ where: played, order: { id: 'asc' } })) {
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
