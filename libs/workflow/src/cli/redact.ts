import type { RunView } from '../insights/views.js';

/** Stands for what is not shown. */
export const REDACTED = '[redacted]';

/** A run's page without what users gave and steps made; what is not there stays null. */
export function redacted(run: RunView): RunView {
  return {
    ...run,
    args: hidden(run.args),
    attempts: run.attempts.map((attempt) => ({
      ...attempt,
      output: hidden(attempt.output),
      error: attempt.error && { ...attempt.error, backtrace: attempt.error.backtrace === null ? null : REDACTED },
    })),
    signals: run.signals.map((signal) => ({ ...signal, payload: hidden(signal.payload) })),
  };
}

function hidden(value: unknown): unknown {
  return value === null || value === undefined ? null : REDACTED;
}
