import type { EventRecord } from 'nestjs-pg-workflows';

/** What the events of waits and fan-outs say beside their names. */
interface Details {
  /** Absent when it waits for the jobs of a fan-out. */
  readonly wait_for?: string;
  /** Of a signal. */
  readonly name?: string;
  readonly duplicate?: boolean;
  /** What the deadline does. */
  readonly action?: string;
  readonly size?: number;
  readonly failed_jobs?: number;
  readonly total_jobs?: number;
}

export function detailsOf({ details }: EventRecord): Details {
  return details ?? {};
}
