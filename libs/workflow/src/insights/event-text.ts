import type { EventName } from '../model/states.js';

/** An event as its text needs it. */
export interface TextedEvent {
  readonly name: EventName;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly details: Record<string, unknown> | null;
}

/**
 * A line of the audit trail in words.
 *
 * @example
 * ```ts
 * eventText({ name: 'resumed', actor: 'dashboard:alice', reason: 'SMTP is up again', … }); // 'Resumed by dashboard:alice: SMTP is up again'
 * ```
 */
export function eventText(event: TextedEvent): string {
  const { actor, reason } = event;
  const by = actor === 'system' ? '' : ` by ${actor}`;
  return `${whatHappened(event)}${by}${reason === null ? '' : `: ${reason}`}`;
}

function whatHappened({ name, step, attempt, details }: TextedEvent): string {
  const of = step === null ? 'A step' : `Step "${step}"`;
  const which = attempt === null ? of : `${of}, attempt ${attempt},`;
  const detail = (key: string): string => String(details?.[key] ?? '?');
  switch (name) {
    case 'started':
      return 'Started';
    case 'step_scheduled':
      return `${which} scheduled`;
    case 'step_started':
      return `${which} started`;
    case 'step_completed':
      return `${which} completed`;
    case 'step_failed':
      return `${which} failed`;
    case 'step_skipped':
      return `${which} skipped`;
    case 'step_reattempted':
      return `${which} failed and is tried again`;
    case 'step_waiting':
      return details?.wait_for === undefined
        ? `${which} waits for its batch`
        : `${which} waits for signal "${detail('wait_for')}"`;
    case 'paused':
      return 'Paused';
    case 'resumed':
      return details?.step === undefined ? 'Resumed' : `Resumed at step "${detail('step')}"`;
    case 'cancelled':
      return 'Cancelled';
    case 'finished':
      return 'Finished';
    case 'run_now':
      return `${which} made due now`;
    case 'rescheduled':
      return `${which} rescheduled to ${detail('scheduled_at')}`;
    case 'rerun':
      return `Run again as ${detail('workflow_id')}`;
    case 'stall_detected':
      return `${which} found stalled (${detail('detection')})`;
    case 'late_completion_ignored':
      return `${which} ended too late: its outcome was ignored`;
    case 'signal_received':
      return `Signal "${detail('name')}" received${details?.duplicate === true ? ' again: nothing was stored' : ''}`;
    case 'signal_claimed':
      return `${which} took signal "${detail('name')}"`;
    case 'wait_timed_out':
      return `${which} waited in vain for signal "${detail('wait_for')}" until ${detail('timeout_at')} (${detail('action')})`;
    case 'fan_out_opened':
      return `${which} opened a batch of ${detail('size')} jobs`;
    case 'fan_out_finished':
      return `The batch of ${which.charAt(0).toLowerCase()}${which.slice(1)} ended: ${detail('failed_jobs')} of ${detail('total_jobs')} jobs failed`;
  }
}
