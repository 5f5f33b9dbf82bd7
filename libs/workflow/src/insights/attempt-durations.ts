import type { StepStatus } from '../model/states.js';
import { durationText } from './time-text.js';

/** An attempt's moments, in milliseconds since 1970. */
export interface AttemptTimes {
  readonly status: StepStatus;
  readonly created_at: number;
  /** When it was to run: the last time it was said, by its wait, its signal, or a person. */
  readonly scheduled_at: number;
  readonly waiting_since: number | null;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  /** Scheduled, and its run is paused: it is not in a queue. */
  readonly held: boolean;
  readonly now: number;
}

/** Milliseconds; null: it did not come to that. */
export interface AttemptDurations {
  readonly waited_ms: number | null;
  readonly queued_ms: number | null;
  readonly ran_ms: number | null;
}

/**
 * The parts of an attempt's life: it waited for its time or its signal, was due and not taken, ran. The part it is in counts up to now. A
 * fan-out runs until its last member has ended.
 */
export function durationsOf(times: AttemptTimes): AttemptDurations {
  const { status, created_at, scheduled_at, waiting_since, started_at, finished_at, held, now } = times;
  const end = finished_at ?? now;
  const parkedStill =
    started_at === null && waiting_since !== null && (status === 'waiting' || scheduled_at < waiting_since);
  const due = parkedStill ? Infinity : Math.max(created_at, scheduled_at);
  const waited = Math.min(due, end) - created_at;
  // Due for nobody while its run is paused.
  const queuedUntil = started_at ?? (held ? due : end);
  const queued = queuedUntil > due ? queuedUntil - due : started_at === null ? null : 0;
  return {
    waited_ms: waited > 0 ? waited : null,
    queued_ms: queued,
    ran_ms: started_at === null ? null : Math.max(0, end - started_at),
  };
}

/** `waited 2h 5m, queued 8ms, ran 1.2s`. */
export function durationsText({ waited_ms, queued_ms, ran_ms }: AttemptDurations): string {
  const parts = Object.entries({ waited: waited_ms, queued: queued_ms, ran: ran_ms });
  return parts.flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${durationText(ms)}`])).join(', ');
}
