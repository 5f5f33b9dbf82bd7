import type { StepDefinition, TimeoutAction, WorkflowDefinition } from '../definition/definition.js';
import type { RunStatus, StepStatus } from '../model/states.js';
import { resumeLabel } from './resume-label.js';
import { agoText, aheadText, durationText, momentText } from './time-text.js';
import type { RunWords } from './views.js';

/** A run as the words need it. */
export interface RunNow {
  readonly id: string;
  readonly workflowClass: string;
  readonly status: RunStatus;
  readonly step: string;
  /** The newest attempt of that step; null: there is none, somebody edited rows. */
  readonly row: RowNow | null;
  readonly createdAt: Date;
  readonly pausedAt: Date | null;
  readonly endedAt: Date | null;
  /** Who cancelled it and why; null: not cancelled. */
  readonly cancelledBy: { readonly actor: string; readonly reason: string | null } | null;
}

/** An attempt as the words need it. */
export interface RowNow {
  readonly attempt: number;
  readonly status: StepStatus;
  readonly scheduledAt: Date;
  readonly startedAt: Date | null;
  readonly worker: string | null;
  readonly errorClass: string | null;
  /** What it waits for, in words. */
  readonly waitFor: string | null;
  readonly waitingSince: Date | null;
  readonly timeoutAt: Date | null;
  /** Its `notify` deadline that passed, was announced, and has none after it. */
  readonly lateSince: Date | null;
  /** Woken by its wait's deadline. */
  readonly timedOut: boolean;
  /** Its members, when it waits for them. */
  readonly batch: { readonly done: number; readonly total: number } | null;
}

/** What words ask of a class. */
export type DefinitionNow = Pick<WorkflowDefinition, 'after'> & {
  step(name: string): Pick<StepDefinition, 'kind' | 'onTimeout'> | undefined;
};

/** What else they depend on. */
export interface Surroundings {
  /** The database's clock. */
  readonly now: Date;
  /** The run's class as this process has it; null: it is not loaded here. */
  readonly definition: DefinitionNow | null;
  /** Milliseconds after which a due step that nobody took is overdue. */
  readonly stallThreshold: number;
}

/**
 * What a run does now and what happens next, in words: the one place that says so, for lists, pages, MCP and logs.
 *
 * @example
 * ```ts
 * describeRun(run, { now, definition, stallThreshold });
 * // { now: 'Waiting for signal "payment_confirmed" at step "capture" since 14:02 UTC (5m ago), until …',
 * //   next: 'With the signal step "capture" runs, then step "ship". At the deadline the run is paused.' }
 * ```
 */
export function describeRun(run: RunNow, surroundings: Surroundings): RunWords {
  const { row, status, step } = run;
  if (status === 'finished' || status === 'cancelled') return { now: ended(run, surroundings), next: null };
  if (!row) return { now: `${capital(status)} at step "${step}", which has no attempt: ${EDITED}`, next: null };
  if (status === 'paused') return { now: paused(run, row, surroundings), next: null };
  if (status === 'ready' && row.status === 'scheduled') return scheduled(run, row, surroundings);
  if (status === 'performing' && row.status === 'in_progress') {
    return { now: `Performing ${performing(step, row, surroundings)}`, next: following(run, surroundings) };
  }
  if (status === 'waiting' && row.status === 'waiting') return waiting(run, row, surroundings);
  return { now: `${capital(status)} at step "${step}", whose attempt is ${row.status}: ${EDITED}`, next: null };
}

const EDITED = 'somebody edited rows by hand. The health check names such runs.';

function performing(step: string, { attempt, startedAt, worker }: RowNow, { now }: Surroundings): string {
  const since = startedAt ? ` since ${agoText(startedAt, now)}` : '';
  return `step "${step}", attempt ${attempt},${since}${worker ? ` on ${worker}` : ''}`;
}

function scheduled(run: RunNow, row: RowNow, surroundings: Surroundings): RunWords {
  const { now, definition, stallThreshold } = surroundings;
  const { scheduledAt } = row;
  const which = `step "${run.step}", attempt ${row.attempt}${row.timedOut ? ' (its wait timed out)' : ''},`;
  const late = now.getTime() - scheduledAt.getTime();
  const next = following(run, surroundings);
  if (late < 0) return { now: `Scheduled: ${which} at ${aheadText(scheduledAt, now)}`, next };
  if (late <= stallThreshold) return { now: `Scheduled: ${which} is due since ${agoText(scheduledAt, now)}`, next };
  const why = definition ? '' : ` The class ${run.workflowClass} is not loaded in this process; is it in any worker?`;
  return { now: `Overdue: ${which} was due at ${agoText(scheduledAt, now)} and nobody took it.${why}`, next };
}

function waiting(run: RunNow, row: RowNow, surroundings: Surroundings): RunWords {
  const { now } = surroundings;
  const since = row.waitingSince ? ` since ${agoText(row.waitingSince, now)}` : '';
  if (row.batch) {
    return {
      now: `Waiting for batch "${batchDescription(run)}"${since}: ${row.batch.done} of ${row.batch.total} done`,
      next: following(run, surroundings),
    };
  }
  return {
    now: `Waiting for ${signal(row)} at step "${run.step}"${since}${until(row, now)}`,
    next: afterSignal(run, row, surroundings),
  };
}

/** As the batch is called everywhere. */
export function batchDescription({ id, workflowClass, step }: Pick<RunNow, 'id' | 'workflowClass' | 'step'>): string {
  return `${workflowClass}#${step} ${id}`;
}

function signal({ waitFor }: RowNow): string {
  return waitFor === null ? 'a signal' : `signal "${waitFor}"`;
}

function until({ timeoutAt, lateSince }: RowNow, now: Date): string {
  if (timeoutAt && timeoutAt > now) return `, until ${aheadText(timeoutAt, now)}`;
  if (timeoutAt) return `; its deadline passed at ${agoText(timeoutAt, now)} and is yet to be applied`;
  if (!lateSince) return ', without a deadline';
  const late = durationText(now.getTime() - lateSince.getTime());
  return `; late by ${late}, since ${momentText(lateSince, now)}: that was announced, and will not be again`;
}

const AT_THE_DEADLINE: Record<TimeoutAction, string> = {
  pause: 'the run is paused',
  cancel: 'the run is cancelled',
  skip: 'the step is skipped',
  run: 'the step runs without it',
  notify: 'it is announced as late, and waits on',
};

function afterSignal(run: RunNow, { timeoutAt }: RowNow, surroundings: Surroundings): string {
  const { definition } = surroundings;
  const step = definition?.step(run.step);
  if (!step) return following(run, surroundings);
  const next = definition!.after(run.step);
  const then = next ? `, then step "${next.name}"` : ', then the run is finished';
  const deadline = timeoutAt ? ` At the deadline ${AT_THE_DEADLINE[step.onTimeout]}.` : '';
  return `With the signal step "${run.step}" runs${then}.${deadline}`;
}

/** What comes after the step the run stands on. */
function following({ step, workflowClass }: RunNow, { definition }: Surroundings): string {
  if (!definition)
    return `What follows is known where the class ${workflowClass} is loaded; it is not in this process.`;
  const declared = definition.step(step);
  const next = definition.after(step);
  if (!declared || next === undefined) {
    return `The class no longer declares step "${step}": the run will be paused, to be resumed at another step.`;
  }
  const removed = declared.kind === 'removed' ? `Step "${step}" was removed and is passed over. ` : '';
  return `${removed}${next ? `Then step "${next.name}".` : 'Then the run is finished.'}`;
}

function paused(run: RunNow, row: RowNow, { now, definition }: Surroundings): string {
  const since = run.pausedAt ? ` since ${agoText(run.pausedAt, now)}` : '';
  const resume = resumeLabel({ step: run.step, rowStatus: row.status, waitFor: row.waitFor, definition });
  const others = definition ? 'resume at another step, or cancel' : 'or cancel';
  return `Paused${since} ${pausedAt(run, row)}. You can resume (${lower(resume)}), ${others}.`;
}

function pausedAt({ step }: RunNow, row: RowNow): string {
  const attempt = `step "${step}", attempt ${row.attempt}`;
  switch (row.status) {
    case 'failed':
      return `at ${attempt}: ${row.errorClass ?? 'it failed'}`;
    case 'scheduled':
      return `before ${attempt}`;
    case 'in_progress':
      return `while ${attempt}, is at work`;
    case 'waiting':
      return row.batch
        ? `while ${attempt}, waits for its batch: ${row.batch.done} of ${row.batch.total} done`
        : `while ${attempt}, waits for ${signal(row)}`;
    case 'completed':
    case 'skipped':
    case 'cancelled':
      return `after ${attempt}`;
  }
}

function ended({ status, step, row, endedAt, createdAt, cancelledBy }: RunNow, { now }: Surroundings): string {
  const when = endedAt
    ? ` at ${agoText(endedAt, now)}, ${durationText(endedAt.getTime() - createdAt.getTime())} after its start`
    : '';
  if (status === 'finished') return `Finished${when}, with step "${step}"`;
  const by = cancelledBy ? ` by ${cancelledBy.actor}` : '';
  const why = cancelledBy?.reason ? `: ${cancelledBy.reason}` : '';
  const error = row?.status === 'failed' && row.errorClass ? ` on ${row.errorClass}` : '';
  return `Cancelled${by}${when}, at step "${step}"${error}${why}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
