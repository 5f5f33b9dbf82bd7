import { inspect, types } from 'node:util';
import { cleanBacktrace } from './backtrace.js';

/** One error of a chain of causes. */
export interface ErrorCause {
  readonly class: string;
  readonly message: string;
}

/** What a failed attempt keeps of what was thrown. Every text can be stored in PostgreSQL. */
export interface ErrorRecord extends ErrorCause {
  /** The application's own frames, one a line. Null: there are none, or no error was thrown. */
  readonly backtrace: string | null;
  /** Its `cause`, that one's cause, and so on; the errors of an `AggregateError` too. */
  readonly causes: readonly ErrorCause[];
}

const MAX_MESSAGE_LENGTH = 10_000;
const MAX_CLASS_LENGTH = 255;
const MAX_CAUSES = 20;

/**
 * What to store of something thrown, whatever it is. It never throws itself, not even for objects that throw when they are
 * looked at: an attempt must be able to end.
 *
 * @param options.backtraceLines - at most so many frames
 */
export function captureError(thrown: unknown, { backtraceLines }: { backtraceLines: number }): ErrorRecord {
  return {
    ...summary(thrown),
    backtrace: attempt(() => backtraceOf(thrown, backtraceLines), null),
    causes: attempt(() => causesOf(thrown).map(summary), []),
  };
}

function summary(thrown: unknown): ErrorCause {
  return {
    class: storable(
      attempt(() => classOf(thrown), 'unknown'),
      MAX_CLASS_LENGTH,
    ),
    message: storable(
      attempt(() => messageOf(thrown), 'What was thrown could not be read.'),
      MAX_MESSAGE_LENGTH,
    ),
  };
}

/** The class's name; `name` for an error whose class says nothing (`AbortError`); the type of what is no object. */
function classOf(thrown: unknown): string {
  if (!isObject(thrown)) return thrown === null ? 'null' : typeof thrown;
  const constructor = read(thrown, 'constructor');
  const className = typeof constructor === 'function' ? read(constructor, 'name') : undefined;
  if (isText(className) && className !== 'Error') return className;
  const name = read(thrown, 'name');
  if (isError(thrown) && isText(name)) return name;
  return isText(className) ? className : 'Object';
}

function messageOf(thrown: unknown): string {
  if (!isObject(thrown)) return asText(thrown);
  const message = read(thrown, 'message');
  return message === undefined && !isError(thrown) ? asText(thrown) : asText(message ?? '');
}

function backtraceOf(thrown: unknown, lines: number): string | null {
  if (!isObject(thrown)) return null;
  const stack = read(thrown, 'stack');
  return isText(stack) ? cleanBacktrace(withoutNul(stack), withoutNul(messageOf(thrown)), lines) : null;
}

/** Depth first. One met before is left out, so a cycle ends the chain. */
function causesOf(thrown: unknown): unknown[] {
  const causes: unknown[] = [];
  const seen = new Set<unknown>([thrown]);
  const open = partsOf(thrown);
  while (open.length > 0 && causes.length < MAX_CAUSES) {
    const cause = open.shift();
    if (seen.has(cause)) continue;
    if (isObject(cause)) seen.add(cause);
    causes.push(cause);
    open.unshift(...partsOf(cause));
  }
  return causes;
}

/** What an error was made of: its cause, and the errors of an `AggregateError` (a refused connection to two addresses). */
function partsOf(error: unknown): unknown[] {
  if (!isObject(error)) return [];
  const cause = read(error, 'cause');
  const errors = read(error, 'errors');
  const parts = isError(error) && Array.isArray(errors) ? errors.slice(0, MAX_CAUSES) : [];
  return cause == null ? parts : [cause, ...parts];
}

function isError(value: unknown): boolean {
  // The first knows errors of another realm (Jest's, `node:vm`), the second those made by Object.create.
  return types.isNativeError(value) || value instanceof Error;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  // Not its own `inspect` or `toString`: those run the application's code.
  return inspect(value, { customInspect: false, depth: 3, maxStringLength: MAX_MESSAGE_LENGTH, breakLength: Infinity });
}

function read(target: object, key: string): unknown {
  return attempt(() => (target as Record<string, unknown>)[key], undefined);
}

function attempt<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

/** PostgreSQL's text has none. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

/** A row has no place for a message of megabytes. */
function storable(text: string, maxLength: number): string {
  const mark = '… (cut)';
  const cut = text.length <= maxLength ? text : `${text.slice(0, maxLength - mark.length)}${mark}`;
  return withoutNul(cut);
}
