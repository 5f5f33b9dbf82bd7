import { Logger, type LoggerService, type LogLevel } from '@nestjs/common';
import { currentStep, type CurrentStep } from './current-step.js';

/** Which step a log line comes from. */
export interface StepLogFields {
  /** The run's id. */
  readonly workflow: string;
  /** The name of the run's class. */
  readonly workflow_class: string;
  /** The step's name. */
  readonly step: string;
  /** 1 for its first attempt in the run. */
  readonly attempt: number;
}

/**
 * The step that the present code runs in, as fields for a structured log; outside a step none.
 *
 * @example pino; nestjs-pino takes the same options under pinoHttp
 * ```ts
 * pino({ mixin: stepLogFields });
 * ```
 * @example winston
 * ```ts
 * winston.format((info) => ({ ...info, ...stepLogFields() }))();
 * ```
 */
export function stepLogFields(): StepLogFields | Record<string, never> {
  const step = currentStep();
  if (!step) return {};
  const { workflowId: workflow, workflowName: workflow_class, stepName, attempt } = step;
  return { workflow, workflow_class, step: stepName, attempt };
}

const PREFIX = 'workflow=';

function inStep(message: unknown, step: CurrentStep | undefined = currentStep()): unknown {
  if (!step || typeof message !== 'string' || message.startsWith(PREFIX)) return message;
  return lineAbout(step, message);
}

/**
 * A logger of Nest's that says in each line of text which step it comes from: `workflow=… step=… attempt=…` stands before what is logged while a step's
 * code runs, the application's own lines too. What is logged as an object stays as it is.
 *
 * @example
 * ```ts
 * const app = await NestFactory.create(AppModule, { logger: new StepLogger(new ConsoleLogger()) });
 * ```
 */
export class StepLogger implements LoggerService {
  /**
   * A logger that has its lines written by another one, the application's.
   *
   * @param inner writes the lines
   */
  constructor(private readonly inner: LoggerService) {}

  log(message: any, ...optional: any[]): void {
    this.inner.log(inStep(message), ...optional);
  }

  error(message: any, ...optional: any[]): void {
    this.inner.error(inStep(message), ...optional);
  }

  warn(message: any, ...optional: any[]): void {
    this.inner.warn(inStep(message), ...optional);
  }

  debug(message: any, ...optional: any[]): void {
    this.inner.debug?.(inStep(message), ...optional);
  }

  verbose(message: any, ...optional: any[]): void {
    this.inner.verbose?.(inStep(message), ...optional);
  }

  fatal(message: any, ...optional: any[]): void {
    if (this.inner.fatal) this.inner.fatal(inStep(message), ...optional);
    else this.inner.error(inStep(message), ...optional);
  }

  setLogLevels(levels: LogLevel[]): void {
    this.inner.setLogLevels?.(levels);
  }
}

/** @internal A line about an attempt, from outside its code. */
export function lineAbout(
  { workflowId, stepName, attempt }: { workflowId: string; stepName: string; attempt: number },
  text: string,
): string {
  return `${PREFIX}${workflowId} step=${stepName} attempt=${attempt} ${text}`;
}

/** @internal The package's own lines, by Nest's logger, whatever logger the application has. */
export const workflowLogger = new StepLogger(new Logger('Workflow'));
