import type { WorkflowDefinition } from '../definition/definition.js';
import type { ErrorRecord } from '../model/error-record.js';
import type { EngineMove, EventName, RunStatus, StepOutcome, StepStatus } from '../model/states.js';
import type { MoveEvent } from '../store/move.js';
import type { Schedule } from '../store/schedule.js';
import { SYSTEM, type Author } from './by.js';
import type { Move } from './change-run.js';
import { scheduleAfter, scheduleNow } from './schedule-of.js';

/** How an attempt ended. `error`: an exception led to it, which the row keeps. */
export interface Outcome {
  readonly kind: StepOutcome;
  /** As stored. */
  readonly output: string | null;
  readonly error: ErrorRecord | null;
  /** Milliseconds until the next attempt, for `reattempted`. */
  readonly wait: number;
}

export function outcomeOf(kind: StepOutcome, parts: Partial<Omit<Outcome, 'kind'>> = {}): Outcome {
  return { kind, output: null, error: null, wait: 0, ...parts };
}

/** An attempt that ends, as the decision needs it. */
export interface EndingAttempt {
  readonly run: { readonly id: string; readonly status: RunStatus };
  readonly row: {
    readonly id: string;
    readonly status: StepStatus;
    readonly step_name: string;
    readonly queue: string;
    readonly priority: number;
  };
}

/**
 * What an attempt's end does to its run: the one place that says so, for a body's return and its verbs, for guards, policies
 * and gravestones, whether it is applied to one run or in a set.
 *
 * Under an outside pause the outcome is recorded and its next row is put in place, but held: nobody claims it before
 * `resume`. Only the ends of a run (`finish`, `step_cancel`) go through a pause.
 */
export function endAttempt(
  definition: WorkflowDefinition,
  { run, row }: EndingAttempt,
  outcome: Outcome,
  settings: { defaultQueue: string },
  author: Author = SYSTEM,
): Move {
  const before: EngineMove[] = run.status === 'ready' ? ['claim'] : run.status === 'waiting' ? ['resolve'] : [];
  const paused = run.status === 'paused';
  const event = (name: EventName, about: MoveEvent['about'] = 'closed'): MoveEvent => ({ name, about, ...author });
  const scheduled: MoveEvent = { name: 'step_scheduled', about: 'opened', actor: author.actor };

  const move = (
    name: EngineMove,
    to: RunStatus,
    closed: StepStatus,
    events: MoveEvent[],
    schedule?: Schedule | null,
  ): Move => ({
    path: [...before, name],
    run: { id: run.id, from: run.status, to },
    close: {
      id: row.id,
      from: row.status,
      to: closed,
      outcome: outcome.kind,
      output: outcome.output,
      error: outcome.error,
    },
    ...(schedule && { open: { schedule, after: row.id } }),
    ...consumptionOf(to, closed),
    events,
  });

  /** On to the step after this one, or to the run's end. */
  const goOn = (closed: StepStatus, ended: EventName): Move => {
    const next = definition.after(row.step_name);
    if (next === null) return move('finish', 'finished', closed, [event(ended), event('finished', 'run')]);
    if (next === undefined) throw new Error(`${definition.name} does not declare the step "${row.step_name}"`);
    return move(
      paused ? 'hold' : 'advance',
      paused ? 'paused' : 'ready',
      closed,
      [event(ended), scheduled],
      scheduleAfter(definition, next, settings.defaultQueue),
    );
  };

  switch (outcome.kind) {
    case 'completed':
      return goOn('completed', 'step_completed');
    case 'skipped':
      return goOn('skipped', 'step_skipped');
    case 'finished':
      return move('finish', 'finished', 'completed', [event('step_completed'), event('finished', 'run')]);
    case 'cancelled':
      return outcome.error
        ? move('step_cancel', 'cancelled', 'failed', [event('step_failed'), event('cancelled')])
        : move('step_cancel', 'cancelled', 'cancelled', [event('cancelled')]);
    case 'paused': {
      const [closed, ended] = outcome.error
        ? (['failed', 'step_failed'] as const)
        : (['completed', 'step_completed'] as const);
      return paused
        ? move('hold', 'paused', closed, [event(ended)])
        : move('step_pause', 'paused', closed, [event(ended), event('paused')]);
    }
    case 'reattempted': {
      const step = definition.step(row.step_name);
      if (!step) throw new Error(`${definition.name} does not declare the step "${row.step_name}"`);
      return move(
        paused ? 'hold' : 'reattempt',
        paused ? 'paused' : 'ready',
        'failed',
        [event('step_reattempted'), scheduled],
        scheduleNow(definition, step, settings.defaultQueue, outcome.wait),
      );
    }
  }
}

/** A signal that the step holds is used up when the step ends, and kept when it is only tried again; with the run, all are. */
function consumptionOf(run: RunStatus, row: StepStatus): { consume?: 'run' | 'step' } {
  if (run === 'finished' || run === 'cancelled') return { consume: 'run' };
  return row === 'failed' ? {} : { consume: 'step' };
}
