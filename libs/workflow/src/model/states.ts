/**
 * The transition table: the one place that says what may happen to a run.
 *
 * A run is *ready* (its step row is scheduled), *performing* (in progress), *waiting* (parked on a signal or a batch),
 * *paused* (nothing is claimed until a person resumes it), or ended: *finished*, *cancelled*. Verbs from outside, the worker's own
 * moves, `availableActions`, the errors' `.allowed`, the SQL's status conditions and the table in `docs/transitions.md`
 * are all read from here.
 */

export const RUN_STATUSES = ['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'] as const;
/** Where a run stands. */
export type RunStatus = (typeof RUN_STATUSES)[number];

export const STEP_STATUSES = [
  'scheduled',
  'waiting',
  'in_progress',
  'completed',
  'failed',
  'cancelled',
  'skipped',
] as const;
/** Where an attempt stands. */
export type StepStatus = (typeof STEP_STATUSES)[number];

/** An attempt that has not ended. A run has at most one. */
export const OPEN_STEP_STATUSES = ['scheduled', 'waiting', 'in_progress'] as const satisfies readonly StepStatus[];

const STEP_OUTCOMES = ['completed', 'skipped', 'reattempted', 'paused', 'cancelled', 'finished'] as const;
/** What an attempt's end did to its run. */
export type StepOutcome = (typeof STEP_OUTCOMES)[number];

const SIGNAL_STATUSES = ['pending', 'claimed', 'consumed'] as const;
/** `pending`: no step took it yet; `claimed`: a step runs with it; `consumed`: that step ended. */
export type SignalStatus = (typeof SIGNAL_STATUSES)[number];

export const EVENT_NAMES = [
  'started',
  'step_scheduled',
  'step_started',
  'step_completed',
  'step_failed',
  'step_skipped',
  'step_reattempted',
  'paused',
  'resumed',
  'cancelled',
  'finished',
  'run_now',
  'rescheduled',
  'rerun',
  'stall_detected',
  'late_completion_ignored',
  'step_waiting',
  'signal_received',
  'signal_claimed',
  'wait_timed_out',
  'fan_out_opened',
  'fan_out_finished',
] as const;
/** What the audit trail can say. */
export type EventName = (typeof EVENT_NAMES)[number];

/** A verb that people and programs may call from outside, as stored and sent. */
export type Verb = 'pause' | 'resume' | 'resume_at' | 'cancel' | 'run_now' | 'reschedule' | 'rerun' | 'skip' | 'signal';

/** A move that only the worker and the sweep make. */
export type EngineMove =
  | 'claim'
  | 'advance'
  | 'finish'
  | 'reattempt'
  | 'step_pause'
  | 'step_cancel'
  | 'unpause'
  | 'hold'
  | 'park'
  | 'wake'
  | 'resolve'
  | 'rewait';

export interface Transition {
  readonly name: Verb | EngineMove;
  /** `outside`: offered in `availableActions`; `engine`: never offered. */
  readonly by: 'outside' | 'engine';
  /** The statuses it is legal in; in every other it changes nothing. */
  readonly from: readonly RunStatus[];
  /** The statuses it may leave behind. */
  readonly to: readonly RunStatus[];
  /** What it does, for the docs. */
  readonly does: string;
}

const ONGOING = ['ready', 'performing', 'waiting', 'paused'] as const satisfies readonly RunStatus[];
const ENDED = ['finished', 'cancelled'] as const satisfies readonly RunStatus[];

/** The order of the verbs is the order of `availableActions`. */
export const TRANSITIONS: readonly Transition[] = [
  verb(
    'resume',
    ['paused'],
    ['ready', 'performing', 'waiting', 'finished'],
    'Goes on: a failed step is tried again, an ended one is followed by the next, a scheduled, running or waiting one goes on as it is.',
  ),
  verb(
    'resume_at',
    ['paused'],
    ['ready'],
    'Runs the named step next, even if it had completed, and the steps after it again.',
  ),
  verb(
    'pause',
    ['ready', 'performing', 'waiting'],
    ['paused'],
    'Nothing more is claimed; a body at work goes on and its outcome is recorded.',
  ),
  verb('cancel', ONGOING, ['cancelled'], 'Ends the run; a body at work is asked to stop and its outcome is ignored.'),
  verb('skip', ['waiting'], ['ready', 'finished'], 'Passes over the step the run waits on.'),
  verb('run_now', ['ready'], ['ready'], 'The scheduled step is due at once.'),
  verb('reschedule', ['ready'], ['ready'], 'The scheduled step is due at the given time.'),
  verb(
    'signal',
    ONGOING,
    ['ready', 'performing', 'waiting', 'paused'],
    'Stores a signal; a step that waits for it is woken.',
  ),
  verb('rerun', ENDED, ENDED, 'Starts a new run with the same subject and arguments; this one stays as it is.'),

  move('claim', ['ready'], ['performing'], 'A worker takes the due step.'),
  move(
    'advance',
    ['performing'],
    ['ready', 'performing'],
    'The step completed or was skipped; the next one is scheduled, or taken at once by the same worker.',
  ),
  move('finish', ['performing', 'paused'], ['finished'], 'The last step ended, or the body said so.'),
  move('reattempt', ['performing'], ['ready'], 'The attempt failed; the next one is scheduled.'),
  move('step_pause', ['performing'], ['paused'], 'The body asked for it, or the attempt failed.'),
  move('step_cancel', ['performing', 'paused'], ['cancelled'], 'The body, a cancel guard or a policy ended the run.'),
  move('unpause', ['paused'], ['performing'], 'Resumed while the body caught by the pause is still at work.'),
  move(
    'hold',
    ['paused'],
    ['paused'],
    'An outcome that came after a pause is recorded; the next step waits for `resume`.',
  ),
  move('park', ['performing'], ['waiting'], 'The step waits for a signal or for its batch.'),
  move('wake', ['waiting'], ['ready'], 'The signal came, or the wait timed out into a run.'),
  move(
    'resolve',
    ['waiting'],
    ['performing', 'ready', 'paused', 'finished', 'cancelled'],
    'The batch ended, the wait timed out, or the step was skipped.',
  ),
  move('rewait', ['paused'], ['waiting'], 'Resumed while its step was waiting.'),
];

function verb(name: Verb, from: readonly RunStatus[], to: readonly RunStatus[], does: string): Transition {
  return { name, by: 'outside', from, to, does };
}

function move(name: EngineMove, from: readonly RunStatus[], to: readonly RunStatus[], does: string): Transition {
  return { name, by: 'engine', from, to, does };
}

const BY_NAME = new Map(TRANSITIONS.map((transition) => [transition.name, transition]));

/** The row of the table for a verb or a move. */
export function transition(name: Verb | EngineMove): Transition {
  return BY_NAME.get(name)!;
}

/** Whether the table allows it in this status. */
export function isLegal(name: Verb | EngineMove, status: RunStatus): boolean {
  return transition(name).from.includes(status);
}

/** The verbs that are legal now, in the table's order. */
export function availableActions(status: RunStatus): Verb[] {
  return TRANSITIONS.filter((row) => row.by === 'outside' && row.from.includes(status)).map((row) => row.name as Verb);
}

/** The one status a move starts from, for the conditions of set-based statements. */
export function sourceOf(name: EngineMove): RunStatus {
  const [status, ...others] = transition(name).from;
  if (!status || others.length) throw new Error(`"${name}" starts from ${others.length + 1} statuses, not from one`);
  return status;
}

export function isOngoing(status: RunStatus): boolean {
  return (ONGOING as readonly RunStatus[]).includes(status);
}
