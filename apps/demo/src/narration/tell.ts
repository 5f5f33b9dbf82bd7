import type { EventName, EventRecord, StepRecord } from 'nestjs-pg-workflows';
import { detailsOf } from './details';

interface Told {
  readonly event: EventRecord;
  /** The attempt it is about. */
  readonly step: StepRecord | undefined;
  readonly steps: readonly StepRecord[];
  readonly events: readonly EventRecord[];
}

const WORDS: Partial<Record<EventName, (told: Told) => string | null>> = {
  started: ({ event }) => `started by ${event.actor}`,
  step_completed: ({ step }) => `${step?.stepName} done${attemptOf(step)}${outputOf(step)}`,
  step_waiting: ({ event, step }) =>
    detailsOf(event).wait_for ? `${step?.stepName} WAITS for ${detailsOf(event).wait_for}` : null,
  signal_received: ({ event }) =>
    `gets ${detailsOf(event).name} from ${event.actor}${detailsOf(event).duplicate ? ' again: nothing happens' : ''}`,
  signal_claimed: (told) => {
    const signal = `${told.step?.stepName} takes ${detailsOf(told.event).name}`;
    return hasWaited(told) ? `WAKES: ${signal}` : `${signal}, which came before`;
  },
  wait_timed_out: ({ event, step }) =>
    `DEADLINE of ${step?.stepName} has passed without ${detailsOf(event).wait_for}: ${afterDeadline(event)}`,
  fan_out_opened: ({ event, step }) =>
    `${step?.stepName} FANS OUT into ${detailsOf(event).size} jobs, and waits for them`,
  fan_out_finished: ({ event, step }) =>
    `${step?.stepName}: all ${detailsOf(event).total_jobs} jobs have ended, ${detailsOf(event).failed_jobs} dead-lettered`,
  step_skipped: ({ step }) => `${step?.stepName} skipped`,
  step_reattempted: (told) => `${failure(told)}; tried again in ${waitAfter(told)}`,
  step_failed: (told) => failure(told),
  paused: ({ event, step }) => (step ? 'PAUSED: a person decides' : `PAUSED by ${event.actor}`),
  resumed: ({ event }) => `RESUMED by ${event.actor}: ${event.reason}`,
  cancelled: ({ event, step }) => {
    if (event.actor !== 'system') return `CANCELLED by ${event.actor}: ${event.reason}`;
    return step?.error ? 'CANCELLED by a policy' : `CANCELLED before ${step?.stepName}, by a guard`;
  },
  finished: () => 'FINISHED',
};

/** One event of a run in words; null for those that say nothing to a newcomer. */
export function tell(
  event: EventRecord,
  of: { readonly events: readonly EventRecord[]; readonly steps: readonly StepRecord[] },
): string | null {
  return WORDS[event.name]?.({ ...of, event, step: of.steps.find(({ id }) => id === event.stepId) }) ?? null;
}

function afterDeadline(event: EventRecord): string {
  const { action } = detailsOf(event);
  return action === 'notify' ? 'notify, and it waits on' : `${action}`;
}

function hasWaited({ event, events }: Told): boolean {
  return events.some(({ name, stepId }) => name === 'step_waiting' && stepId === event.stepId);
}

function failure({ step }: Told): string {
  return `${step?.stepName} FAILED, ${step?.error?.class}: ${step?.error?.message}`;
}

function attemptOf(step: StepRecord | undefined): string {
  return step && step.attempt > 1 ? ` (attempt ${step.attempt})` : '';
}

function outputOf(step: StepRecord | undefined): string {
  return step?.output ? ` → ${JSON.stringify(step.output)}` : '';
}

function waitAfter({ step, steps }: Told): string {
  const next = steps.find(({ stepName, attempt }) => stepName === step?.stepName && attempt === step.attempt + 1);
  return next && step?.finishedAt ? `${(next.scheduledAt.getTime() - step.finishedAt.getTime()) / 1000} s` : 'a moment';
}
