import { badOption, type Place } from './definition-error.js';
import { allowedDurations, MORE_THAN_ZERO, parseDuration } from './duration.js';

/** When a wait is over: at a moment, or so many milliseconds after the park. */
export type WaitDeadline = { readonly at: Date } | { readonly after: number };

/**
 * What a step's `waitTimeout` comes to at a park: the static one as it is, a callable's answer (awaited) checked.
 * null: no deadline this time.
 *
 * @throws {WorkflowDefinitionError} for any other answer, an ISO text too
 */
export function toDeadline(answer: unknown, place: Place): WaitDeadline | null {
  if (answer === null || answer === undefined) return null;
  const date = asDate(answer);
  if (date) return { at: date };
  const parsed = parseDuration(answer, { min: MORE_THAN_ZERO });
  if (typeof parsed === 'number') return { after: parsed };
  throw badOption(
    place,
    'waitTimeout',
    answer,
    `a valid Date, an object with toDate() or toJSDate(), ${allowedDurations(MORE_THAN_ZERO)}, null or undefined`,
  );
}

function asDate(answer: unknown): Date | null {
  if (typeof answer !== 'object' || answer === null) return null;
  const { toDate, toJSDate } = answer as Record<string, unknown>;
  const convert = typeof toDate === 'function' ? toDate : toJSDate;
  const date: unknown = typeof convert === 'function' ? convert.call(answer) : answer;
  return date instanceof Date && !Number.isNaN(date.getTime()) ? date : null;
}
