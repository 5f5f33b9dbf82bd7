import { shown } from '../definition/definition-error.js';
import type { WorkflowDefinition } from '../definition/definition.js';
import { InvalidTransitionError, NotPausedError, StepNotDefinedError, WorkflowNotFoundError } from '../errors.js';
import {
  availableActions,
  isLegal,
  OPEN_STEP_STATUSES,
  transition,
  type EventName,
  type RunStatus,
  type Verb,
} from '../model/states.js';
import type { MoveEvent } from '../store/move.js';
import type { RunRow } from '../store/run.js';
import type { Schedule } from '../store/schedule.js';
import type { Author } from './by.js';
import type { LockedRun, Move } from './change-run.js';
import { endAttempt, outcomeOf } from './outcomes.js';
import { scheduleAfter, scheduleNow } from './schedule-of.js';

/**
 * The verbs from outside: each looks at a locked run and says what is to be written. Whether it is legal is the
 * transition table's word.
 */

export function pause({ run, row }: LockedRun, by: Author): Move {
  assertLegal('pause', run);
  return {
    path: ['pause'],
    run: { id: run.id, from: run.status, to: 'paused' },
    ...(row.status === 'scheduled' && { keep: { id: row.id, due: 'never' } }),
    ...(row.status === 'waiting' && { keep: { id: row.id, due: 'stop_clock' } }),
    events: [about('run', 'paused', by)],
  };
}

/** A failed step is tried again, an ended one is followed by the next, an open one goes on. */
export function resume(
  { run, row }: LockedRun,
  by: Author,
  definition: WorkflowDefinition,
  settings: { defaultQueue: string },
): Move {
  assertLegal('resume', run);
  const resumed = about('run', 'resumed', by);
  const to = (status: RunStatus, parts: Partial<Move> = {}): Move => ({
    path: ['resume'],
    run: { id: run.id, from: run.status, to: status },
    events: [resumed],
    ...parts,
  });
  const open = (schedule: Schedule, after?: string): Move =>
    to('ready', { open: { schedule, ...(after && { after }) }, events: [resumed, stepScheduled(by)] });

  switch (row.status) {
    case 'scheduled':
      return to('ready', { keep: { id: row.id, due: 'as_scheduled' } });
    case 'in_progress':
      return to('performing');
    case 'waiting':
      return to('waiting', { keep: { id: row.id, due: 'start_clock' } });
    case 'failed': {
      const step = definition.step(row.step_name);
      if (step) return open(scheduleNow(definition, step, settings.defaultQueue));
      // Not declared (any more): it is met again on claim, and pauses again, until it is declared or `resumeAt` goes elsewhere.
      const { step_name, queue, priority } = row;
      return open({
        step: step_name,
        handler: definition.name,
        queue,
        priority,
        wait: 0,
        holdBack: 0,
        notBefore: null,
      });
    }
    case 'completed':
    case 'skipped':
    case 'cancelled': {
      const next = definition.after(row.step_name);
      if (next === undefined) throw stepNotDefined(definition, row.step_name, run.id);
      if (next === null) {
        return to('finished', { consume: 'run', events: [resumed, about('run', 'finished', by)] });
      }
      return open(scheduleAfter(definition, next, settings.defaultQueue), row.id);
    }
  }
}

/** Runs the named step next, and those after it again. */
export function resumeAt(
  { run, row }: LockedRun,
  by: Author,
  definition: WorkflowDefinition,
  name: string,
  settings: { defaultQueue: string },
): Move {
  assertLegal('resume_at', run);
  const step = definition.step(name);
  if (!step || step.kind === 'removed') throw stepNotDefined(definition, name, run.id);
  return {
    path: ['resume_at'],
    run: { id: run.id, from: run.status, to: 'ready' },
    ...(isOpen(row) && { close: { id: row.id, from: row.status, to: 'cancelled', outcome: null } }),
    open: { schedule: scheduleNow(definition, step, settings.defaultQueue) },
    events: [about('run', 'resumed', by, { step: name }), stepScheduled(by)],
  };
}

export function cancel({ run, row }: LockedRun, by: Author): Move {
  assertLegal('cancel', run);
  return {
    path: ['cancel'],
    run: { id: run.id, from: run.status, to: 'cancelled' },
    ...(isOpen(row) && { close: { id: row.id, from: row.status, to: 'cancelled', outcome: 'cancelled' } }),
    consume: 'run',
    events: [about('run', 'cancelled', by)],
  };
}

export function runNow({ run, row }: LockedRun, by: Author): Move {
  assertLegal('run_now', run);
  return {
    path: ['run_now'],
    run: { id: run.id, from: run.status, to: run.status },
    keep: { id: row.id, due: 'now' },
    events: [about('kept', 'run_now', by)],
  };
}

export function reschedule({ run, row }: LockedRun, by: Author, at: Date): Move {
  assertLegal('reschedule', run);
  return {
    path: ['reschedule'],
    run: { id: run.id, from: run.status, to: run.status },
    keep: { id: row.id, due: at },
    events: [about('kept', 'rescheduled', by, { scheduled_at: at.toISOString() })],
  };
}

/** Passes over the step the run waits on; the batch it may have opened goes on by itself. */
export function skip(
  locked: LockedRun,
  by: Author,
  definition: WorkflowDefinition,
  settings: { defaultQueue: string },
): Move {
  assertLegal('skip', locked.run);
  const { step_name: step } = locked.row;
  if (definition.after(step) === undefined) throw stepNotDefined(definition, step, locked.run.id);
  return endAttempt(definition, locked, outcomeOf('skipped'), settings, by);
}

/** Notes on the old run that it was started again; the new run is started apart. */
export function rerun(run: RunRow, by: Author, newId: string): Move {
  assertLegal('rerun', run);
  return {
    path: ['rerun'],
    run: { id: run.id, from: run.status, to: run.status },
    events: [about('run', 'rerun', by, { workflow_id: newId })],
  };
}

/** Refuses a verb that the transition table does not allow now. */
export function assertLegal(verb: Verb, run: { id: string; status: RunStatus }): void {
  if (isLegal(verb, run.status)) return;
  const allowed = availableActions(run.status);
  const message =
    `Workflow ${run.id} is ${run.status}: "${verb}" is for runs that are ${transition(verb).from.join(', ')}. ` +
    `Now allowed: ${allowed.join(', ')}.`;
  const Refusal = verb === 'resume' || verb === 'resume_at' ? NotPausedError : InvalidTransitionError;
  throw new Refusal(message, verb, run.status, allowed);
}

/** Asked of a locked run: whoever called the verb saw it in this status, and decided by that. */
export function assertExpected(verb: Verb, run: { id: string; status: RunStatus }, expected?: RunStatus): void {
  if (expected === undefined || run.status === expected) return;
  const allowed = availableActions(run.status);
  throw new InvalidTransitionError(
    `Workflow ${run.id} is ${run.status}, not ${expected} as "${verb}" expected it to be. Nothing was done. ` +
      `Now allowed: ${allowed.join(', ')}.`,
    verb,
    run.status,
    allowed,
  );
}

export function notFound(id: unknown): WorkflowNotFoundError {
  return new WorkflowNotFoundError(
    `There is no workflow ${shown(id)}: it was never started here, its transaction has not ` +
      'committed, or retention deleted it.',
  );
}

function about(
  row: MoveEvent['about'],
  name: EventName,
  by: Author,
  details: Record<string, unknown> | null = null,
): MoveEvent {
  return { name, about: row, actor: by.actor, reason: by.reason, details };
}

function stepScheduled(by: Author): MoveEvent {
  return { name: 'step_scheduled', about: 'opened', actor: by.actor };
}

function isOpen(row: LockedRun['row']): boolean {
  return (OPEN_STEP_STATUSES as readonly string[]).includes(row.status);
}

function stepNotDefined(definition: WorkflowDefinition, step: string, id: string): StepNotDefinedError {
  const declared = definition.steps.filter(({ kind }) => kind !== 'removed').map(({ name }) => name);
  return new StepNotDefinedError(
    `${definition.name} declares no step "${step}" (workflow ${id}). Declared: ${declared.join(', ')}. ` +
      'Use resumeAt with one of these, or declare the step again.',
  );
}
