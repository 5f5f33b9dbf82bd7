import { captureError } from '../model/error-record.js';
import type { StepOutcome } from '../model/states.js';
import { workflowLogger } from './log.js';

/** Where an error came from. */
export interface ErrorContext {
  /** The name of the run's class. */
  readonly workflowClass: string;
  /** The run's id, a UUID. */
  readonly workflowId: string;
  /** The step's name. */
  readonly stepName: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
  /** What the attempt's end did to its run. */
  readonly outcome: StepOutcome;
}

/** What the reporter is to be told, once the attempt's end has committed. */
export interface ErrorReport {
  readonly error: unknown;
  readonly context: ErrorContext;
}

/**
 * Is told of the error of each failed attempt, once. A throw in it is logged and changes nothing.
 *
 * @example
 * ```ts
 * WorkflowModule.forRoot({ errorReporter: { report: (error, context) => Sentry.captureException(error, { extra: { ...context } }) } });
 * ```
 */
export interface ErrorReporter {
  /**
   * Told once the attempt's end has committed. A promise is waited for, but for no longer than a moment.
   *
   * @param error what was thrown
   * @param context the attempt it ended
   */
  report(error: unknown, context: ErrorContext): void | Promise<void>;
}

/** The default: a line of Nest's logger with the application's own frames; a warning, as long as the step is tried again. */
export class LoggingErrorReporter implements ErrorReporter {
  private readonly logger = workflowLogger;

  report(error: unknown, context: ErrorContext): void {
    const { workflowClass, workflowId, stepName, attempt, outcome } = context;
    const { class: name, message, backtrace } = captureError(error, { backtraceLines: 10 });
    const line =
      `workflow=${workflowId} step=${stepName} attempt=${attempt} class=${workflowClass} ended as ${outcome}: ` +
      `${name}: ${message}`;
    if (outcome === 'reattempted') this.logger.warn(line);
    else this.logger.error(line, backtrace ?? undefined);
  }
}
