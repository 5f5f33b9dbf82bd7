import { Logger } from '@nestjs/common';
import type { StepOutcome } from '../model/states.js';

/** Where an error came from. */
export interface ErrorContext {
  readonly workflowClass: string;
  readonly workflowId: string;
  readonly stepName: string;
  readonly attempt: number;
  /** What the attempt's end did to its run. */
  readonly outcome: StepOutcome;
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
  report(error: unknown, context: ErrorContext): void | Promise<void>;
}

/** The default: one line of Nest's logger. */
export class LoggingErrorReporter implements ErrorReporter {
  private readonly logger = new Logger('Workflow');

  report(error: unknown, context: ErrorContext): void {
    const { workflowClass, workflowId, stepName, attempt, outcome } = context;
    this.logger.error(
      `workflow=${workflowId} class=${workflowClass} step=${stepName} attempt=${attempt} ended as ${outcome}: ${summary(error)}`,
      stackOf(error),
    );
  }
}

/** Anything can be thrown, also what throws when it is looked at. */
function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

function summary(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : `${String(error)} was thrown`;
  } catch {
    return 'something that cannot be shown was thrown';
  }
}
