import { channel } from 'node:diagnostics_channel';
import type { TimeoutAction } from '../definition/definition.js';

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

const waitTimedOut = channel('workflow.wait_timed_out');

/**
 * For after the commit. What a subscriber throws does not come back to us: Node keeps it from the publisher, and reports it as an
 * uncaught exception of the subscriber's.
 */
export function publishWaitTimedOut(message: WaitTimedOutMessage): void {
  if (waitTimedOut.hasSubscribers) waitTimedOut.publish(message);
}
