import { IsIn, ValidateBy } from 'class-validator';
import { nameProblem } from '../model/names.js';
import { RUN_ID } from '../model/run-id.js';

/** A rule in words that follow the field's name. The value is not in them: what was sent is not sent back. */
function rule(name: string, problem: (value: unknown) => string | null): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value) => problem(value) === null,
      // class-validator knows `$value` and the like in messages.
      defaultMessage: (context) =>
        `${context!.property} ${problem(context!.value) ?? 'is wrong'}`.replaceAll('$', '＄'),
    },
  });
}

/** What the tables hold as a name or a key. */
export const IsKey = (): PropertyDecorator =>
  rule('isKey', (value) => (typeof value === 'string' ? nameProblem(value) : 'must be a text'));

/** As {@link IsKey}; a blank one is none. */
export const IsKeyOrBlank = (): PropertyDecorator =>
  rule('isKeyOrBlank', (value) => {
    if (typeof value !== 'string') return 'must be a text';
    return value.trim() === '' ? null : nameProblem(value);
  });

export const MAX_REASON_LENGTH = 1_000;

export const IsReason = (): PropertyDecorator =>
  rule('isReason', (value) => {
    if (typeof value !== 'string') return 'must be a text';
    return value.length > MAX_REASON_LENGTH ? `must have at most ${MAX_REASON_LENGTH} characters` : null;
  });

export const IsOneOf = (allowed: readonly string[]): PropertyDecorator =>
  IsIn(allowed, { message: ({ property }) => `${property} must be one of: ${allowed.join(', ')}` });

export const IsRunId = (): PropertyDecorator =>
  rule('isRunId', (value) =>
    typeof value === 'string' && RUN_ID.test(value) ? null : 'must be the id of a run (a UUID)',
  );

export const IsMoment = (): PropertyDecorator =>
  rule('isMoment', (value) =>
    momentOf(value)
      ? null
      : 'must be a moment between 1970 and 9999 as ISO 8601 with its zone, such as 2026-01-31T09:30:00Z, or a day, which begins at 00:00 UTC',
  );

export const IsWholeUpTo = (most: number): PropertyDecorator =>
  rule('isWholeUpTo', (value) =>
    (typeof value === 'string' || typeof value === 'number') &&
    /^\d{1,9}$/.test(String(value)) &&
    Number(value) >= 1 &&
    Number(value) <= most
      ? null
      : `must be a whole number from 1 to ${most}`,
  );

export const IsFlag = (): PropertyDecorator =>
  rule('isFlag', (value) => (typeof value === 'boolean' ? null : 'must be true or false'));

/** A reason that has to be given. Characters are counted as people do, without the blanks around them. */
export const IsSaidReason = (most: number): PropertyDecorator =>
  rule('isSaidReason', (value) => {
    if (typeof value !== 'string') return 'must be a text that says why';
    const { length } = Array.from(value.trim());
    if (length === 0) return 'must say why: it is blank';
    return length > most ? `must have at most ${most} characters; it has ${length}` : null;
  });

/** Deeper ones could not be walked through without an end in sight. */
const MAX_DEPTH = 100;

export const IsPayload = (): PropertyDecorator =>
  rule('isPayload', (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JSON object';
    return isDeep(value) ? `must not be nested deeper than ${MAX_DEPTH} levels` : null;
  });

const MOMENT =
  /^(\d{4})-(\d\d)-(\d\d)(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** Undefined: it is none. A plus that came as a space, as in queries that were not encoded, is read as one. */
export function momentOf(value: unknown): Date | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.replace(/ (?=\d\d:\d\d$)/, '+');
  const parts = MOMENT.exec(text);
  if (!parts) return undefined;
  const [, year, month, day] = parts;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // JavaScript makes the 2nd of March of a 30th of February.
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day) || Number(year) < 1970) return undefined;
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) || moment.getTime() < 0 || moment.getUTCFullYear() > 9999 ? undefined : moment;
}

function isDeep(value: object): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
