import type { EventName, EventRecord, StepRecord } from 'nestjs-pg-workflows';

interface Told {
  readonly event: EventRecord;
  /** The attempt it is about. */
  readonly step: StepRecord | undefined;
  readonly steps: readonly StepRecord[];
}

const WORDS: Partial<Record<EventName, (told: Told) => string>> = {
  started: ({ event }) => `started by ${event.actor}`,
  step_completed: ({ step }) => `${step?.stepName} done${attemptOf(step)}${outputOf(step)}`,
  step_skipped: ({ step }) => `${step?.stepName} skipped`,
  step_reattempted: (told) => `${failure(told)}; tried again in ${waitAfter(told)}`,
  step_failed: (told) => failure(told),
  paused: ({ event, step }) =>
    step ? 'PAUSED: no policy is for this error, a person decides' : `PAUSED by ${event.actor}`,
  resumed: ({ event }) => `RESUMED by ${event.actor}: ${event.reason}`,
  cancelled: ({ step }) => (step?.error ? 'CANCELLED by a policy' : `CANCELLED before ${step?.stepName}, by a guard`),
  finished: () => 'FINISHED',
};

/** One event of a run in words; null for those that say nothing to a newcomer. */
export function tell(event: EventRecord, steps: readonly StepRecord[]): string | null {
  return WORDS[event.name]?.({ event, steps, step: steps.find(({ id }) => id === event.stepId) }) ?? null;
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
