import { parseDuration, type Duration } from './definition/duration.js';
import { WorkflowConfigurationError } from './errors.js';
import { nameProblem } from './model/names.js';
import type { ErrorReporter } from './observe/error-reporter.js';

/** In milliseconds. A longer timer of Node's fires at once. */
export const LONGEST_TIMER = 24 * 24 * 60 * 60 * 1_000;

/** What a value comes to, or what would have been allowed. */
type Parsed<T> = { value: T } | { allowed: string };

/**
 * Checks options of one object, by name. What cannot be right is refused with the option, the value given and what is allowed.
 *
 * @throws WorkflowConfigurationError from each method
 */
export class OptionChecks {
  constructor(
    private readonly given: Record<string, unknown>,
    private readonly prefix: string,
  ) {}

  wrong(option: string, value: unknown, allowed: string): WorkflowConfigurationError {
    return new WorkflowConfigurationError(
      `WorkflowModule: "${this.prefix}${option}" is ${shown(value)}; allowed: ${allowed}.`,
    );
  }

  optional<T>(option: string, parse: (value: unknown) => Parsed<T>): T | undefined {
    const value = this.given[option];
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if ('allowed' in parsed) throw this.wrong(option, value, parsed.allowed);
    return parsed.value;
  }

  duration(option: string, fallback: Duration, min: number, max = Infinity): number {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    const parsed = parseDuration(value);
    if (typeof parsed === 'number' && parsed >= min && parsed <= max) return parsed;
    const most = max === Infinity ? '' : ' and at most 24 days (it is a timer of the process)';
    throw this.wrong(
      option,
      value,
      `a duration of at least ${min} ms${most}: milliseconds, or text such as "15s" or "2 days"`,
    );
  }

  whole(option: string, fallback: number, min: number): number {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    if (Number.isSafeInteger(value) && (value as number) >= min) return value as number;
    throw this.wrong(option, value, `a whole number of at least ${min}`);
  }

  oneOf<T extends string>(option: string, allowed: readonly T[], fallback: T): T {
    const value = this.given[option] === undefined ? fallback : this.given[option];
    if ((allowed as readonly unknown[]).includes(value)) return value as T;
    throw this.wrong(option, value, allowed.map((one) => `"${one}"`).join(', '));
  }

  name = (value: unknown): Parsed<string> =>
    typeof value === 'string' && nameProblem(value) === null
      ? { value }
      : { allowed: 'a name of 1 to 255 characters without NUL' };

  names = (value: unknown): Parsed<readonly string[]> =>
    Array.isArray(value) && value.length > 0 && value.every((one) => 'value' in this.name(one))
      ? { value: [...new Set(value as string[])] }
      : { allowed: 'a list of at least one queue name' };

  path = (value: unknown): Parsed<string> =>
    typeof value === 'string' && /^\/?[\w.~-]+(\/[\w.~-]+)*$/.test(value)
      ? { value }
      : { allowed: 'a path without parameters, such as "workflows/health"' };

  text = (value: unknown): Parsed<string> =>
    typeof value === 'string' && !value.includes('\0') ? { value } : { allowed: 'a text without NUL characters' };

  positiveWhole = (value: unknown): Parsed<number> =>
    Number.isSafeInteger(value) && (value as number) >= 1
      ? { value: value as number }
      : { allowed: 'a whole number of at least 1' };

  booleanOrUrl = (value: unknown): Parsed<boolean | string> =>
    typeof value === 'boolean' || (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value))
      ? { value }
      : { allowed: 'true, false, or a postgres:// URL' };

  boolean = (value: unknown): Parsed<boolean> =>
    typeof value === 'boolean' ? { value } : { allowed: 'true or false' };

  booleanOrObject = (value: unknown): Parsed<boolean | object> =>
    typeof value === 'boolean' || isObject(value)
      ? { value }
      : { allowed: 'true, false, or an object of its settings' };

  ascending = (value: unknown): Parsed<readonly number[]> =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one, at) => Number.isFinite(one) && one > (at ? value[at - 1] : 0))
      ? { value: [...(value as number[])] }
      : { allowed: 'a list of seconds over 0, in ascending order' };

  having =
    (...methods: readonly string[]) =>
    (value: unknown): Parsed<unknown> =>
      methods.every((method) => typeof (value as Record<string, unknown> | null)?.[method] === 'function')
        ? { value }
        : { allowed: `an object with ${methods.map((method) => `${method}()`).join(', ')}` };

  callable = (value: unknown): Parsed<unknown> =>
    typeof value === 'function' ? { value } : { allowed: 'a function that returns an EntityManager or undefined' };

  reporter = (value: unknown): Parsed<unknown> =>
    typeof (value as ErrorReporter | null)?.report === 'function'
      ? { value }
      : { allowed: 'an object with a method report(error, context)' };

  nothingElse(known: readonly string[]): void {
    for (const key of Object.keys(this.given)) {
      if (!known.includes(key)) {
        throw new WorkflowConfigurationError(
          `WorkflowModule: there is no option "${this.prefix}${key}"; there are: ${known.map((one) => this.prefix + one).join(', ')}.`,
        );
      }
    }
  }
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as messages show it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? `[${value.map(shown).join(', ')}]` : 'an object';
  return String(value);
}
