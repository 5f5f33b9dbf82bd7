import { STATUS_OF } from '../insights/attention.js';
import type { AttemptView, AttentionGroup, RunSummary, RunView, SignalView } from '../insights/views.js';

/** Stands where something is, and is not shown. */
const REDACTED = '[redacted]';
/** All payloads and error texts of one answer have at most so many bytes of JSON; what is over that is left out. */
const MOST_BYTES = 100_000;

/**
 * What leaves the process by an answer: the one place where arguments, outputs, signals' payloads and error texts are taken out, and where the views of REST
 * get the names that tools have for what they take (`workflow_class`, `status`), so that an answer's fields can be passed on as they are.
 */
export class Boundary {
  private left = MOST_BYTES;

  /** @param open payloads may be shown, and were asked for */
  constructor(private readonly open: boolean) {}

  /** A run as lists have it: nothing in it is a payload. */
  listed({ class: workflow_class, ...run }: RunSummary) {
    return { workflow_class, ...run };
  }

  run({ class: workflow_class, args, attempts, signals, ...run }: RunView) {
    return {
      workflow_class,
      ...run,
      payloads_shown: this.open,
      args: this.payload(args),
      attempts: attempts.map((attempt) => this.attempt(attempt)),
      signals: signals.map((signal) => this.signal(signal)),
    };
  }

  /** A run as an action's answer has it, which never shows a payload: without what may have any. */
  acted({
    args: _args,
    attempts: _attempts,
    signals: _signals,
    pauses: _pauses,
    class: workflow_class,
    ...run
  }: RunView) {
    return { workflow_class, ...run };
  }

  group({ class: workflow_class, reason: stuck_reason, error_message, ...group }: AttentionGroup) {
    return {
      workflow_class,
      stuck_reason,
      status: STATUS_OF[stuck_reason],
      ...group,
      error_message: this.payload(error_message),
    };
  }

  /** Numbers of classes, queues and workers: there is no payload in them. */
  numbers(view: object): object {
    return renamed(view) as object;
  }

  private attempt({ output, error, ...attempt }: AttemptView) {
    return {
      ...attempt,
      output: this.payload(output),
      error: error && {
        class: error.class,
        message: this.payload(error.message),
        backtrace: this.payload(error.backtrace),
        causes: error.causes.map((cause) => ({ class: cause.class, message: this.payload(cause.message) })),
      },
    };
  }

  private signal({ payload, ...signal }: SignalView) {
    return { ...signal, payload: this.payload(payload) };
  }

  private payload(value: unknown): unknown {
    if (value == null) return null;
    if (!this.open) return REDACTED;
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > this.left) return `[${bytes} bytes left out: the answer would be too large]`;
    this.left -= bytes;
    return value;
  }
}

/** Filters of the run list are named as the tool `workflows` names them. */
const NAMES: Readonly<Record<string, string>> = { class: 'workflow_class', state: 'status' };

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [NAMES[name] ?? name, renamed(inside)]));
}
