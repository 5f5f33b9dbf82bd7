import { randomUUID } from 'node:crypto';
import type { Type } from '@nestjs/common';
import type { StallAction, TimeoutAction, WorkflowHandle, WorkflowOf } from 'nestjs-pg-workflows';
import type { Attempt } from '../../libs/workflow/src/engine/attempt';
import { captureError } from '../../libs/workflow/src/model/error-record';
import { outcomeOf, type Outcome } from '../../libs/workflow/src/transition/outcomes';
import type { ActName } from './race-acts';
import type { Side } from './race-sides';
import { Stage } from './race-stage';
import { Fanning, One, Two, Waiting } from './race-workflows';
import type { Suite } from './suite';
import { Ticket } from './ticket';

/** A run that was brought into a scene. */
export interface Staged {
  readonly run: WorkflowHandle;
  /** The attempt that the scene is about: the one at work, when there is one, else the open one. */
  readonly stepId: string;
  readonly attempt: Attempt | null;
  readonly outcome: Outcome | null;
  readonly stallAction: StallAction;
}

/** A state that two acts can meet a run in. */
export interface Scene {
  readonly name: string;
  /** The acts that change such a run. Every other is refused in it, or does nothing. */
  readonly for: readonly ActName[];
  readonly workflow: Type<WorkflowOf<Ticket>>;
  /** How the body at work is going to end; not given: none is at work. */
  readonly ending?: 'completed' | 'failed' | 'reattempted' | 'paused' | 'cancelled';
  readonly stallAction?: StallAction;
  readonly prepare?: (stage: Stage) => Promise<unknown>;
}

const ONGOING = ['cancel', 'signal'] as const satisfies ActName[];
const UNPAUSED = ['pause', ...ONGOING] as const satisfies ActName[];
const AT_WORK = ['settle', 'stall', ...UNPAUSED] as const satisfies ActName[];
const PAUSED = ['resume', ...ONGOING] as const satisfies ActName[];

const atWork = (
  name: string,
  ending: NonNullable<Scene['ending']>,
  stallAction: StallAction,
  workflow: Scene['workflow'] = Two,
): Scene => ({
  name: `at work on ${name}`,
  for: AT_WORK,
  workflow,
  ending,
  stallAction,
  prepare: (stage) => stage.begin(),
});

const pausedAtWork = (
  name: string,
  ending: NonNullable<Scene['ending']>,
  stallAction: StallAction,
  workflow: Scene['workflow'] = Two,
): Scene => ({
  name: `paused while at work on ${name}`,
  for: ['settle', 'stall', ...PAUSED],
  workflow,
  ending,
  stallAction,
  prepare: async (stage) => {
    await stage.begin();
    await stage.pause();
  },
});

const waiting = (onTimeout: TimeoutAction): Scene => ({
  name: `waiting past its deadline, then ${onTimeout}`,
  for: ['timeout', ...UNPAUSED],
  workflow: Waiting[onTimeout],
  prepare: async (stage) => {
    await stage.claim('parked');
    await stage.passDeadline();
  },
});

const batch = (
  name: string,
  members: 'completed' | 'failed',
  onBatchFailure: keyof typeof Fanning = 'pause',
): Scene => ({
  name: `waiting for ${name}`,
  for: ['join', ...UNPAUSED],
  workflow: Fanning[onBatchFailure],
  prepare: (stage) => stage.fanOut(members),
});

const paused = (name: string, scene: Pick<Scene, 'workflow' | 'prepare'>, ...more: ActName[]): Scene => ({
  name: `paused ${name}`,
  for: [...more, ...PAUSED],
  workflow: scene.workflow,
  prepare: async (stage) => {
    await scene.prepare?.(stage);
    await stage.pause();
  },
});

export const SCENES: readonly Scene[] = [
  { name: 'ready', for: ['claim', ...UNPAUSED], workflow: Two },
  { name: 'ready before its gate', for: ['claim', ...UNPAUSED], workflow: Waiting.pause },
  {
    name: 'ready before its gate, its signal there',
    for: ['claim', ...UNPAUSED],
    workflow: Waiting.skip,
    prepare: (stage) => stage.signal(),
  },
  atWork('a step that completes', 'completed', 'pause'),
  atWork('its last step', 'completed', 'reattempt', One),
  atWork('a step that fails', 'failed', 'cancel'),
  atWork('a step that is tried again', 'reattempted', 'reattempt'),
  atWork('a step that pauses', 'paused', 'reattempt'),
  atWork('a step that cancels', 'cancelled', 'pause'),
  {
    name: 'at work with its signal',
    for: AT_WORK,
    workflow: Waiting.run,
    ending: 'completed',
    stallAction: 'reattempt',
    prepare: async (stage) => {
      await stage.signal();
      await stage.begin();
    },
  },
  waiting('pause'),
  waiting('cancel'),
  waiting('skip'),
  waiting('run'),
  waiting('notify'),
  batch('a batch that completed', 'completed'),
  batch('a batch that failed, then pause', 'failed', 'pause'),
  batch('a batch that failed, then cancel', 'failed', 'cancel'),
  batch('a batch that failed, then skip', 'failed', 'skip'),
  paused('before its step', { workflow: Two }),
  pausedAtWork('a step that completes', 'completed', 'pause'),
  pausedAtWork('its last step', 'completed', 'cancel', One),
  pausedAtWork('a step that fails', 'failed', 'reattempt'),
  paused('while it waited past its deadline, then pause', waiting('pause')),
  paused('while it waited past its deadline, then notify', waiting('notify')),
  paused('while its batch completed', batch('', 'completed'), 'join'),
  paused('while its batch failed, then cancel', batch('', 'failed', 'cancel'), 'join'),
  {
    name: 'paused on a failure',
    for: PAUSED,
    workflow: Two,
    prepare: async (stage) => {
      await stage.begin();
      await stage.settle(failure());
    },
  },
  {
    name: 'paused by its step',
    for: PAUSED,
    workflow: Two,
    prepare: async (stage) => {
      await stage.begin();
      await stage.settle(outcomeOf('paused'));
    },
  },
  {
    name: 'ready, an attempt that was overtaken still at work',
    for: ['claim', ...UNPAUSED],
    workflow: Two,
    ending: 'completed',
    prepare: async (stage) => {
      await stage.begin();
      await stage.pause();
      await stage.each(({ run }) => run.resumeAt('one'));
    },
  },
  {
    name: 'cancelled, its body still at work',
    for: ['rerun'],
    workflow: Two,
    ending: 'completed',
    prepare: async (stage) => {
      await stage.begin();
      await stage.each(({ run }) => run.cancel());
    },
  },
  {
    name: 'finished',
    for: ['rerun'],
    workflow: One,
    prepare: async (stage) => {
      await stage.begin();
      await stage.settle(outcomeOf('completed'));
    },
  },
];

function failure(): Outcome {
  return outcomeOf('paused', { error: captureError(new Error('boom'), { backtraceLines: 0 }) });
}

function outcomeOfEnding(ending: Scene['ending']): Outcome | null {
  if (ending === undefined) return null;
  return ending === 'failed' ? failure() : outcomeOf(ending);
}

/** Brings that many runs into the scene, through the engine; only what takes time (a deadline, a lease) is done to their rows. */
export async function stage(scene: Scene, count: number, side: Side, sql: Suite['sql']): Promise<Staged[]> {
  const inputs = Array.from({ length: count }, () => ({ subject: new Ticket(randomUUID()) }));
  const runs = await side.app.workflows.startMany(scene.workflow, inputs);
  const built = new Stage(runs, side, sql);
  await scene.prepare?.(built);
  const open = await built.openRows();
  return runs.map((run) => ({
    run,
    stepId: built.attempts.get(run.id)?.row.id ?? open.get(run.id)!,
    attempt: scene.ending === undefined ? null : built.attempts.get(run.id)!,
    outcome: outcomeOfEnding(scene.ending),
    stallAction: scene.stallAction ?? 'pause',
  }));
}
