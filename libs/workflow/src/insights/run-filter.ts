import { RUN_ID } from '../model/run-id.js';
import { RUN_STATUSES, type RunStatus } from '../model/states.js';
import { InvalidQueryError } from './query-error.js';
import { STUCK_REASONS, type StuckReason } from './stuck.js';
import type { Moment } from './views.js';

export const RUN_STATES = ['ongoing', 'all', ...RUN_STATUSES] as const;
/** `ongoing`: not ended; `all`; or one status. */
export type RunState = 'ongoing' | 'all' | RunStatus;

/** Which runs a list shows, by the names that REST has: all that is given has to fit. */
export interface RunFilter {
  /** Default `ongoing`; `all` when `id` or the end is asked for. */
  readonly state?: RunState;
  readonly class?: string;
  /** The step that the run stands on. */
  readonly step?: string;
  /** Of the error that the newest attempt of that step recorded. */
  readonly error_class?: string;
  readonly subject_type?: string;
  readonly subject_id?: string;
  readonly id?: string;
  /** From this moment on. */
  readonly created_from?: Moment | Date;
  /** Before this moment. */
  readonly created_to?: Moment | Date;
  /** When it became finished or cancelled: from this moment on. */
  readonly ended_from?: Moment | Date;
  /** Before this moment. */
  readonly ended_to?: Moment | Date;
  readonly stuck_reason?: StuckReason;
}

/** A filter that was checked. */
export type CheckedFilter = Omit<RunFilter, (typeof MOMENTS)[number] | 'state'> & { readonly state: RunState } & {
  readonly [Key in (typeof MOMENTS)[number]]?: Moment;
};

const TEXTS = ['class', 'step', 'error_class', 'subject_type', 'subject_id'] as const;
const MOMENTS = ['created_from', 'created_to', 'ended_from', 'ended_to'] as const;
const KEYS: readonly string[] = ['state', 'id', 'stuck_reason', ...TEXTS, ...MOMENTS];

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/;

/**
 * Checks what was asked for, as it came: an empty text is none.
 *
 * @throws {InvalidQueryError} naming the field
 * @example
 * ```ts
 * checkRunFilter({ state: 'paused', class: 'OrderWorkflow', created_from: '2026-01-31' });
 * ```
 */
export function checkRunFilter(given: RunFilter | Readonly<Record<string, unknown>>): CheckedFilter {
  const filter: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (!KEYS.includes(key)) throw new InvalidQueryError(key, `is no filter; there are: ${KEYS.join(', ')}.`);
    if (value !== undefined && value !== null && value !== '') filter[key] = value;
  }
  for (const key of TEXTS) if (key in filter) checkText(key, filter[key]);
  for (const key of MOMENTS) if (key in filter) filter[key] = checkMoment(key, filter[key]);
  if ('id' in filter && !(typeof filter.id === 'string' && RUN_ID.test(filter.id))) {
    throw new InvalidQueryError('id', "has to be a run's whole id, such as 0198f2a4-6c1e-7b3a-9d52-1f0c8e6a7b41.");
  }
  checkOneOf('stuck_reason', filter.stuck_reason, STUCK_REASONS);
  checkOneOf('state', filter.state, RUN_STATES);
  const byDefault = 'id' in filter || 'ended_from' in filter || 'ended_to' in filter ? 'all' : 'ongoing';
  return { ...filter, state: (filter.state as RunState | undefined) ?? byDefault };
}

function checkText(field: string, value: unknown): void {
  if (typeof value === 'string' && value.length <= 255 && !value.includes('\0')) return;
  throw new InvalidQueryError(field, 'has to be a text of at most 255 characters without NUL.');
}

function checkMoment(field: string, value: unknown): Moment {
  const at = value instanceof Date ? value : new Date(typeof value === 'string' && ISO.test(value) ? value : NaN);
  // Beyond these years PostgreSQL and JavaScript do not write moments alike.
  if (at.getTime() >= 0 && at.getUTCFullYear() <= 9999) return at.toISOString();
  throw new InvalidQueryError(
    field,
    'has to be a moment between 1970 and 9999: "2026-01-31T14:02:00Z", with its time zone, or "2026-01-31", where that day begins in UTC.',
  );
}

function checkOneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value as string)) return;
  throw new InvalidQueryError(field, `has to be one of ${allowed.join(', ')}.`);
}
