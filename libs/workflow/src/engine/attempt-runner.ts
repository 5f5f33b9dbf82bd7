import { StepTimedOutError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import type { ErrorContext } from '../observe/error-reporter.js';
import { outlasted } from '../store/patience.js';
import { outcomeOf, type Outcome } from '../transition/outcomes.js';
import type { Attempt } from './attempt.js';
import { contextOf, contextWithoutData, runBody } from './body.js';
import type { EngineParts } from './engine.parts.js';
import { Gate } from './gate.js';
import type { LiveContext } from './live-context.js';
import { LONGEST_TIMER_MS } from './longest-timer.js';
import { outcomeOfError } from './policies.js';
import { settleOne } from './settle-one.js';
import type { Settlement } from './settlement.js';
import { recordLate, runTransactional } from './transactional.js';
import { workflowLogger } from '../observe/log.js';

/** An attempt whose row is in progress under our claim. */
export interface Begun {
  readonly attempt: Attempt;
  /** Made already, when guards were asked. */
  readonly context?: LiveContext | null;
  /** A guard threw: the body does not run. */
  readonly failure?: { readonly error: unknown };
}

/** Applies an outcome to the run. The worker puts usual ones into a set; the default is one run at a time. */
export type Settle = (attempt: Attempt, outcome: Outcome) => Promise<Settlement>;

/** Runs an attempt's body, asks the policies when it throws, has the outcome settled, and reports the error. */
export class AttemptRunner {
  private readonly logger = workflowLogger;

  constructor(private readonly parts: EngineParts) {}

  async run({ attempt, context: given, failure }: Begun, settle: Settle = this.settleOne): Promise<void> {
    const timer = this.startTimeout(attempt);
    let context = given ?? null;
    try {
      if (failure) {
        context ??= contextWithoutData(this.parts, attempt, failure.error);
        return await this.settleError(attempt, context, failure.error, settle);
      }
      try {
        context ??= await this.contextOf(attempt);
      } catch (error) {
        context = contextWithoutData(this.parts, attempt, error);
        return await this.settleError(attempt, context, error, settle);
      }
      await this.runStep(attempt, context, settle);
    } finally {
      clearTimeout(timer);
      context?.enter('ended');
    }
  }

  /** A database that is away for a while, just as subject or signal are to be loaded, fails no attempt. */
  private async contextOf(attempt: Attempt): Promise<LiveContext> {
    for (let number = 1; ; number += 1) {
      try {
        if (attempt.wokenBy) attempt.gate ??= await Gate.holding(this.parts, attempt.step.waitFor!, attempt.wokenBy);
        return await contextOf(this.parts, attempt);
      } catch (error) {
        if (number === LOADS || !(await outlasted(this.parts.database, error))) throw error;
      }
    }
  }

  /** Tells the error reporter, and waits for it a moment: one that hangs must not keep the attempt's slot. */
  async report(thrown: unknown, context: ErrorContext): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, REPORT_GRACE_MS);
    });
    await Promise.race([this.tell(thrown, context), patience]);
    clearTimeout(timer);
  }

  /** The reporter's own failure is logged, and changes nothing. */
  private async tell(error: unknown, context: ErrorContext): Promise<void> {
    try {
      await this.parts.errorReporter.report(error, context);
    } catch (failure) {
      const { class: kind, message } = captureError(failure, { backtraceLines: 0 });
      this.logger.error(`The error reporter failed: ${kind}: ${message}`);
    }
  }

  private async runStep(attempt: Attempt, context: LiveContext, settle: Settle): Promise<void> {
    if (attempt.step.transactional) {
      const result = await runTransactional(this.parts, attempt, context);
      if (result.kind === 'settled') {
        if (result.settlement === 'late') await recordLate(this.parts, attempt);
        return;
      }
      if (result.body.threw) return this.settleError(attempt, context, result.body.error, settle);
    } else {
      const body = await runBody(this.parts, attempt, context);
      if (body.threw) return this.settleError(attempt, context, body.error, settle);
    }
    const { verb, storedOutput: output } = context;
    context.enter('ended');
    await settle(attempt, outcomeOf(verb?.kind ?? 'completed', { output, wait: verb?.wait ?? 0 }));
  }

  private async settleError(attempt: Attempt, context: LiveContext, error: unknown, settle: Settle): Promise<void> {
    const { outcome, report } = await outcomeOfError(this.parts, attempt, context, error);
    context.enter('ended');
    const settlement = await settle(attempt, outcome);
    if (!report || settlement !== 'settled') return;
    await this.report(report.error, {
      workflowClass: attempt.workflow.definition.name,
      workflowId: attempt.row.workflowId,
      stepName: attempt.step.name,
      attempt: attempt.row.attempt,
      outcome: outcome.kind,
    });
  }

  /** At its time-out the body is asked to stop; one that goes on regardless is the sweep's. */
  private startTimeout(attempt: Attempt): NodeJS.Timeout | undefined {
    const { timeout } = attempt.step;
    if (timeout === null) return undefined;
    const expire = () =>
      attempt.abort(new StepTimedOutError(`${attempt.label} took longer than its timeout (${timeout} ms).`));
    return setTimeout(expire, Math.min(timeout, LONGEST_TIMER_MS));
  }

  private readonly settleOne: Settle = (attempt, outcome) => settleOne(this.parts, attempt, outcome);
}

/** How often subject and arguments are loaded, when the database was away. */
const LOADS = 3;
/** How long an attempt waits for its error to be reported. */
const REPORT_GRACE_MS = 1_000;
