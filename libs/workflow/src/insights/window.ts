import { InvalidQueryError } from './query-error.js';
import type { WindowView } from './definition-views.js';
import { WINDOWS, type Window } from './views.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const LENGTHS: Readonly<Record<Window, { readonly length: number; readonly bucket: number }>> = {
  '1h': { length: HOUR, bucket: 5 * MINUTE },
  '24h': { length: DAY, bucket: HOUR },
  '7d': { length: 7 * DAY, bucket: 6 * HOUR },
  '30d': { length: 30 * DAY, bucket: DAY },
};

/** What is looked at when nobody says otherwise. */
export const DEFAULT_WINDOW: Window = '24h';

/** A stretch of time, cut into buckets. Moments are whole milliseconds, so that a filter of the run list can name them. */
export class Span {
  readonly from: Date;
  private readonly bucket: number;
  /** How many buckets it has: counted back from its end, so that the first may be shorter where the window is capped. */
  readonly buckets: number;
  private readonly capped: boolean;

  /**
   * @param retention milliseconds after which runs are deleted; null: never
   * @throws {InvalidQueryError} for another window than {@link WINDOWS}
   */
  constructor(
    readonly window: Window,
    readonly to: Date,
    retention: number | null,
  ) {
    assertWindow(window);
    const { length, bucket } = LENGTHS[window];
    this.capped = retention !== null && retention < length;
    const covered = this.capped ? Math.max(1, Math.floor(retention!)) : length;
    this.from = new Date(to.getTime() - covered);
    this.bucket = bucket;
    this.buckets = Math.ceil(covered / bucket);
  }

  get view(): WindowView {
    return {
      window: this.window,
      from: this.from.toISOString(),
      to: this.to.toISOString(),
      capped: this.capped,
    };
  }

  /** Where each bucket begins, oldest first. */
  get beginnings(): readonly string[] {
    return Array.from({ length: this.buckets }, (_, place) => this.edges(place).from);
  }

  /** Where the bucket begins and ends, counted from 0, the oldest. */
  edges(place: number): { readonly from: string; readonly to: string } {
    const end = this.to.getTime() - (this.buckets - 1 - place) * this.bucket;
    return {
      from: new Date(Math.max(this.from.getTime(), end - this.bucket)).toISOString(),
      to: new Date(end).toISOString(),
    };
  }
}

/** @throws {InvalidQueryError} */
export function assertWindow(window: unknown): asserts window is Window {
  if (WINDOWS.includes(window as Window)) return;
  throw new InvalidQueryError('window', `has to be one of ${WINDOWS.join(', ')}.`);
}
