import { badOption, definitionError, type Place } from './definition-error.js';
import { ALLOWED_NAMES, isName } from './name.js';

/** A signal as a step or a matcher sees it. */
export interface ReceivedSignal<Payload = any> {
  /** What it was sent as. */
  readonly name: string;
  /** What it was sent with, read back from its row. */
  readonly payload: Payload;
}

/**
 * Decides which signals a step waits for. It runs under the run's lock: fast, synchronous, without side effects.
 *
 * @example
 * ```ts
 * const anyRefund: SignalMatcher = { matches: (signal) => signal.name.startsWith('refund_') };
 * ```
 */
export interface SignalMatcher<Payload = any> {
  /** What events and pages call it. Without one they show its class's name. */
  readonly name?: string;
  /**
   * Whether a step waits for this signal. A promise is refused with `WorkflowDefinitionError`.
   *
   * @param signal one that was sent to the run
   */
  matches(signal: ReceivedSignal<Payload>): boolean;
}

/** What `defineSignal` returns: a signal's name with the type of its payload. */
export interface SignalDefinition<Payload = any> extends SignalMatcher<Payload> {
  /** What it is sent as. */
  readonly name: string;
  /** The class-validator DTO that payloads are checked against before they are stored; null: not checked. */
  readonly payload: (new () => Payload) | null;
}

/** What `waitFor` takes: a signal's name, a `defineSignal` value, `matcher(…)`, or any object with `matches(signal)`. */
export type WaitFor = string | SignalMatcher;

/**
 * Names a signal and the type of its payload, so that `signal` and `Ctx<this, typeof PaymentConfirmed>` are typed.
 *
 * @param name 1 to 255 characters, not blank, without a NUL character
 * @param payload a class-validator DTO: a payload that fails it is refused with `PayloadValidationError`, and nothing is stored
 * @throws {WorkflowDefinitionError} when the name or the DTO cannot be right
 * @example
 * ```ts
 * export const PaymentConfirmed = defineSignal<{ amount: number }>('payment_confirmed');
 * export const Shipped = defineSignal('shipped', ShippedDto);
 * ```
 */
export function defineSignal<Payload = any>(name: string, payload?: new () => Payload): SignalDefinition<Payload> {
  const place: Place = { owner: 'defineSignal' };
  checkSignalName(name, place, 'name');
  if (payload !== undefined && typeof payload !== 'function') {
    throw badOption(place, 'payload', payload, 'a class-validator DTO class');
  }
  const signal = Object.freeze({
    name,
    payload: payload ?? null,
    matches: (received: ReceivedSignal) => received.name === name,
  });
  defined.add(signal);
  return signal;
}

/** What `defineSignal` made: it goes by the name alone, and no code of the application's is asked. */
const defined = new WeakSet<object>();

/** The name that alone decides what fits; null: the application's code does. */
export function nameAlone(waitFor: SignalMatcher): string | null {
  return defined.has(waitFor) ? waitFor.name! : null;
}

/**
 * Waits for a signal of that name whose payload the function accepts.
 *
 * @param name as for `defineSignal`
 * @param accepts asked of the payload, under the run's lock: fast, synchronous, without side effects
 * @throws {WorkflowDefinitionError} when the name cannot be one or `accepts` is no function
 * @example
 * ```ts
 * @Step({ waitFor: matcher('shipped', (payload: { region: string }) => payload.region === 'eu') })
 * ```
 */
export function matcher<Payload = any>(name: string, accepts: (payload: Payload) => boolean): SignalMatcher<Payload> {
  const place: Place = { owner: 'matcher' };
  checkSignalName(name, place, 'name');
  if (typeof accepts !== 'function') throw badOption(place, 'accepts', accepts, 'a function of the payload');
  // Not coerced to a boolean: `fits` refuses a promise.
  return Object.freeze({
    name,
    matches: (signal: ReceivedSignal<Payload>) => signal.name === name && accepts(signal.payload),
  });
}

/** One matcher for whatever `waitFor` was given. */
export function toMatcher(waitFor: unknown, place: Place): SignalMatcher {
  if (isName(waitFor)) return defineSignal(waitFor);
  if (isMatcher(waitFor)) return waitFor;
  throw badOption(
    place,
    'waitFor',
    waitFor,
    `a signal's name (${ALLOWED_NAMES}), a defineSignal value, matcher(name, fn), or an object with a matches(signal) function`,
  );
}

/** Whether the signal is one the matcher waits for. */
export function fits(waitFor: SignalMatcher, signal: ReceivedSignal): boolean {
  const answer: unknown = waitFor.matches(signal);
  // A promise is truthy: an async matcher would take every signal.
  if (typeof (answer as { then?: unknown } | null | undefined)?.then === 'function') {
    // Nobody waits for it: its rejection must not end the process.
    Promise.resolve(answer).catch(() => undefined);
    throw definitionError(
      { owner: `Matcher "${matcherName(waitFor)}"` },
      'matches() returned a promise; it must be synchronous.',
    );
  }
  return Boolean(answer);
}

/** What events and pages call it. */
export function matcherName(waitFor: SignalMatcher): string {
  if (isName(waitFor.name)) return waitFor.name;
  const { name } = (waitFor as object).constructor ?? {};
  return isName(name) && name !== 'Object' ? name : 'matcher';
}

function checkSignalName(value: unknown, place: Place, option: string): void {
  if (!isName(value)) throw badOption(place, option, value, ALLOWED_NAMES);
}

function isMatcher(value: unknown): value is SignalMatcher {
  const mayHaveMethods = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return mayHaveMethods && typeof (value as SignalMatcher).matches === 'function';
}
