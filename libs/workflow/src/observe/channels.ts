import { channel } from 'node:diagnostics_channel';
import type { TimeoutAction } from '../definition/definition.js';
import type { StepOutcome } from '../model/states.js';

/** A message on `workflow.wait_timed_out`: a wait's deadline passed, and this was done. */
export interface WaitTimedOutMessage {
  readonly workflowClass: string;
  readonly workflowId: string;
  readonly stepName: string;
  readonly attempt: number;
  /** The signal that did not come, in words. */
  readonly waitFor: string | null;
  readonly action: TimeoutAction;
  /** The deadline that was missed; null when a test let a wait without one expire. */
  readonly timeoutAt: Date | null;
}

/** How a stall was found: by its worker's lapsed lease, or by the sweep. */
export type StallDetection = 'lease' | 'sweep';

/** A message on `workflow.stall_detected`: an attempt's worker was lost, or its body took longer than allowed. */
export interface StallDetectedMessage {
  readonly workflowClass: string;
  readonly workflowId: string;
  readonly stepName: string;
  readonly attempt: number;
  readonly detection: StallDetection;
  /** What `stallAction` did to the run. */
  readonly outcome: StepOutcome;
  /** `hostname:pid` of the worker that had it. */
  readonly worker: string | null;
}

const stallDetected = channel('workflow.stall_detected');

/** For after the commit, as {@link publishWaitTimedOut}. */
export function publishStallDetected(message: StallDetectedMessage): void {
  if (stallDetected.hasSubscribers) stallDetected.publish(message);
}

const waitTimedOut = channel('workflow.wait_timed_out');

/**
 * For after the commit. What a subscriber throws does not come back to us: Node keeps it from the publisher, and reports it as an
 * uncaught exception of the subscriber's.
 */
export function publishWaitTimedOut(message: WaitTimedOutMessage): void {
  if (waitTimedOut.hasSubscribers) waitTimedOut.publish(message);
}
