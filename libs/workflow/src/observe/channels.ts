import { channel, type Channel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import type { TimeoutAction } from '../definition/definition.js';
import type { StepOutcome } from '../model/states.js';
import { workflowLogger } from './log.js';

/**
 * What happened, told on `node:diagnostics_channel` once it has committed: each channel's messages are a public type below. Metrics and
 * traces are made of nothing else.
 *
 * A subscriber is told synchronously, in the middle of the engine's work: it notes what it needs and returns. What it throws is logged, and changes
 * nothing.
 */

/** The run that a message is about. */
interface AboutRun {
  /** The name of the run's class. */
  readonly workflowClass: string;
  /** The run's id, a UUID. */
  readonly workflowId: string;
}

/** A message on `workflow.started`: a run was started. A start that found an earlier run with its key is none. */
export interface WorkflowStartedMessage extends AboutRun {
  /** The run that it repeats. */
  readonly rerunOf: string | null;
}

/** A message on `workflow.step`: an attempt ended. Members of a fan-out are no attempts of their own. */
export interface WorkflowStepMessage extends AboutRun {
  /** The step's name. */
  readonly stepName: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
  /** What its end did to the run; `cancelled` too for one that `resumeAt` passed over. */
  readonly outcome: StepOutcome;
  /** Of the error that was recorded; null: none was. */
  readonly errorClass: string | null;
  /** Milliseconds from its start to its end; null: its body never began. */
  readonly durationMs: number | null;
  /** By the database's clock. */
  readonly endedAt: Date;
}

/** A message on `workflow.finished`. */
export type WorkflowFinishedMessage = AboutRun;

/** A message on `workflow.cancelled`. */
export type WorkflowCancelledMessage = AboutRun;

/** A message on `workflow.paused`. */
export interface WorkflowPausedMessage extends AboutRun {
  /** The step that the run stands on. */
  readonly stepName: string;
  /** Of the error that led to it; null: somebody asked for it, or the body did. */
  readonly errorClass: string | null;
}

/** A message on `workflow.signal`: a signal was delivered. */
export interface WorkflowSignalMessage extends AboutRun {
  /** What it was sent as. */
  readonly signal: string;
  /** `claimed`: it woke its step; `pending`: it is kept. */
  readonly status: 'pending' | 'claimed' | 'consumed';
  /** One with this key was there before: nothing was stored. */
  readonly duplicate: boolean;
}

/** A message on `workflow.wait_timed_out`: a wait's deadline passed, and this was done. */
export interface WaitTimedOutMessage extends AboutRun {
  /** The step that waited. */
  readonly stepName: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
  /** The signal that did not come, in words. */
  readonly waitFor: string | null;
  /** What `onTimeout` said, and was done. */
  readonly action: TimeoutAction;
  /** The deadline that was missed; null when a test let a wait without one expire. */
  readonly timeoutAt: Date | null;
}

/** How a stall was found: by its worker's lapsed lease, or by the sweep. */
export type StallDetection = 'lease' | 'sweep';

/** A message on `workflow.stall_detected`: an attempt's worker was lost, or its body took longer than allowed. */
export interface StallDetectedMessage extends AboutRun {
  /** The step's name. */
  readonly stepName: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
  /** How it was found. */
  readonly detection: StallDetection;
  /** What `stallAction` did to the run. */
  readonly outcome: StepOutcome;
  /** `hostname:pid` of the worker that had it. */
  readonly worker: string | null;
}

/** A message on `workflow.gauge`: a number as it is now, the same in every process. */
export interface WorkflowGaugeMessage {
  /** The metric's name. */
  readonly name: 'workflows' | 'workflows_stuck' | 'workflow_queue_depth' | 'workflow_queue_oldest_due_seconds';
  /** As on the metric: `{ workflow_class, status }`, `{ workflow_class, reason }` or `{ queue }`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds where the name says so, else a count. */
  readonly value: number;
}

/** The channels and what is told on them. */
export interface WorkflowMessages {
  /** A run was started. */
  readonly 'workflow.started': WorkflowStartedMessage;
  /** An attempt ended. */
  readonly 'workflow.step': WorkflowStepMessage;
  /** A run has done its last step. */
  readonly 'workflow.finished': WorkflowFinishedMessage;
  /** A run was paused: by a policy, its body, a stall, or from outside. */
  readonly 'workflow.paused': WorkflowPausedMessage;
  /** A run was cancelled. */
  readonly 'workflow.cancelled': WorkflowCancelledMessage;
  /** An attempt lost its worker, or took longer than allowed. */
  readonly 'workflow.stall_detected': StallDetectedMessage;
  /** A signal was delivered. */
  readonly 'workflow.signal': WorkflowSignalMessage;
  /** A wait's deadline passed. */
  readonly 'workflow.wait_timed_out': WaitTimedOutMessage;
  /** A gauge was read. */
  readonly 'workflow.gauge': WorkflowGaugeMessage;
}

/** The name of a channel. */
export type WorkflowChannel = keyof WorkflowMessages;

// Held here, so that they live as long as the process: a channel that nobody refers to is collected, subscribers and all.
const CHANNELS: Readonly<Record<WorkflowChannel, Channel>> = {
  'workflow.started': channel('workflow.started'),
  'workflow.step': channel('workflow.step'),
  'workflow.finished': channel('workflow.finished'),
  'workflow.paused': channel('workflow.paused'),
  'workflow.cancelled': channel('workflow.cancelled'),
  'workflow.stall_detected': channel('workflow.stall_detected'),
  'workflow.signal': channel('workflow.signal'),
  'workflow.wait_timed_out': channel('workflow.wait_timed_out'),
  'workflow.gauge': channel('workflow.gauge'),
};

const logger = workflowLogger;

/**
 * `diagnostics_channel.subscribe`, with the message's type.
 *
 * @param name the channel
 * @param listener called synchronously, once what happened has committed
 * @returns the function that ends it
 * @example
 * ```ts
 * const stop = onWorkflowMessage('workflow.paused', ({ workflowClass, workflowId, errorClass }) => {
 *   pager.notify(`${workflowClass} ${workflowId} is paused: ${errorClass ?? 'asked for'}`);
 * });
 * ```
 */
export function onWorkflowMessage<Name extends WorkflowChannel>(
  name: Name,
  listener: (message: WorkflowMessages[Name]) => void,
): () => void {
  const subscriber = (message: unknown) => listener(message as WorkflowMessages[Name]);
  CHANNELS[name].subscribe(subscriber);
  return () => {
    CHANNELS[name].unsubscribe(subscriber);
  };
}

/** @internal Whether anybody listens: what nobody hears need not be put together. */
export function isHeard(name: WorkflowChannel): boolean {
  return CHANNELS[name].hasSubscribers;
}

/**
 * @internal For after the commit.
 *
 * Node's own `publish` keeps a subscriber's throw from the publisher and reports it as an uncaught exception, which ends the process and stalls
 * whatever runs in it. So the subscribers are called one by one here, as Node (20 to 26) keeps them.
 */
export function publish<Name extends WorkflowChannel>(name: Name, message: WorkflowMessages[Name]): void {
  const at = CHANNELS[name];
  if (!at.hasSubscribers) return;
  const { _subscribers: subscribers } = at as Channel & { _subscribers?: unknown };
  if (!Array.isArray(subscribers)) return at.publish(message);
  for (const subscriber of subscribers as ((message: unknown, name: string) => unknown)[]) {
    try {
      const answer = subscriber(message, name);
      if (types.isPromise(answer)) answer.catch((error: unknown) => refuse(name, error));
    } catch (error) {
      refuse(name, error);
    }
  }
}

function refuse(name: WorkflowChannel, error: unknown): void {
  logger.error(`A subscriber of the channel "${name}" threw; nothing else is changed by that: ${inWords(error)}`);
}

/** Anything can be thrown, also what throws when it is looked at. */
function inWords(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } catch {
    return 'what was thrown could not be read';
  }
}
