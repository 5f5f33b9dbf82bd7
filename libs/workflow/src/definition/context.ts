import type { EntityManager } from 'typeorm';
import type { RunStatus } from '../model/states.js';
import type { Duration } from './duration.js';
import type { FanOutJobOptions } from './job-options.js';
import type { ReceivedSignal, SignalMatcher } from './signal.js';

/** What `receivedSignal` is in a step that waits for `Signal` (`typeof PaymentConfirmed`, a name, null for none). */
export type Received<Signal> = 0 extends 1 & Signal
  ? any
  : [Signal] extends [null]
    ? null
    : Signal extends SignalMatcher<infer Payload>
      ? ReceivedSignal<Payload>
      : ReceivedSignal;

/**
 * What a step's body, a guard and a policy's handler are given. It is valid until the attempt ends; used later, its
 * verbs and readers throw `NotInStepError`.
 *
 * The verbs `pause`, `cancel`, `reattempt`, `skip` and `finish` end the body where they stand. They do so by throwing; a
 * body whose `catch` swallows that still ends with the verb's outcome.
 *
 * @example
 * ```ts
 * @Step()
 * async reserve(ctx: Ctx<this>) {
 *   if (!ctx.subject) ctx.cancel();
 *   ctx.output({ reservation: await this.stock.reserve(ctx.subject, { key: ctx.stepIdempotencyKey }) });
 * }
 * ```
 */
export abstract class StepContext<Subject = any, Args = any, Signal = any> {
  /** The run's id, a UUID. */
  abstract readonly workflowId: string;
  /** The name of the run's class, as the tables store it. */
  abstract readonly workflowName: string;
  /** The step's name: its method's, unless an option says otherwise. */
  abstract readonly stepName: string;
  /** 1 for the step's first attempt in this run. */
  abstract readonly attempt: number;
  /** The record given to `start`, loaded afresh for this attempt; null when there was none or it is gone. */
  abstract readonly subject: Subject | null;
  /** What `start` was given, frozen. */
  abstract readonly args: Readonly<Args>;
  /** The signal this attempt holds; null in a step without `waitFor`, and when its wait timed out into `run`. */
  abstract readonly receivedSignal: Received<Signal>;
  /** The wait's deadline passed and `onTimeout` is `run`. */
  abstract readonly timedOut: boolean;
  /** A signal is already held: it woke this attempt, or one before it took the signal. */
  abstract readonly woken: boolean;
  /** `wf:<workflowId>:<step>`: the same on every attempt, for calls to others that must happen once. */
  abstract readonly stepIdempotencyKey: string;
  /** `wf:<workflowId>:<step>:<attempt>`. */
  abstract readonly attemptIdempotencyKey: string;
  /** Aborts on the step's time-out, a lost lease, shutdown and an outside `cancel`. */
  abstract readonly abortSignal: AbortSignal;
  /** The manager of the guard's or the transactional step's transaction, else the DataSource's. */
  abstract readonly manager: EntityManager;

  /**
   * The subject.
   *
   * @throws an Error that names the record when it is gone
   */
  abstract requireSubject(): NonNullable<Subject>;

  /**
   * Values to keep on the attempt, written with its completion. Several calls merge, later keys win.
   *
   * @param values by name: what can be stored, see the guide's "What can be stored"
   * @throws {PayloadTooLargeError | UnserializableValueError}
   */
  abstract output(values: Record<string, unknown>): void;

  /**
   * The output of the step's latest completed attempt; null if there is none.
   *
   * @param step its name
   */
  abstract outputOf<Values extends object = Record<string, any>>(step: string): Promise<Values | null>;

  /** The outputs of all completed steps, by step. */
  abstract outputs(): Promise<Record<string, Record<string, any>>>;

  /** The attempt holds a signal, or one that fits is pending. Takes none. One answer for the whole attempt. */
  abstract signalReady(): Promise<boolean>;

  /** Completes the step and pauses the run; a person's `resume` goes on with the next step. */
  abstract pause(): never;
  /** Ends the run as cancelled. */
  abstract cancel(): never;
  /**
   * Ends this attempt and schedules the next one, after `wait` (default: at once).
   *
   * @param options `wait`: until the next attempt
   */
  abstract reattempt(options?: { wait?: Duration }): never;
  /** Passes over this step: the run goes on with the next one. */
  abstract skip(): never;
  /** Completes the step and ends the run as finished. */
  abstract finish(): never;
}

declare const SUBJECT: unique symbol;
declare const ARGS: unique symbol;

/**
 * Base of a workflow class: says the type of its subject and of its arguments. It adds nothing at run time.
 *
 * @example
 * ```ts
 * @Workflow({ subject: Order })
 * export class OrderWorkflow extends WorkflowOf<Order, { plan: string }> { … }
 * ```
 */
export abstract class WorkflowOf<Subject = null, Args = Record<string, never>> {
  /** @internal */
  declare protected readonly [SUBJECT]: Subject;
  /** @internal */
  declare protected readonly [ARGS]: Args;
}

/** The type of a workflow's subject. */
export type SubjectOf<W> = W extends WorkflowOf<infer Subject, any> ? Subject : never;

/**
 * What names a workflow's subject in a call: the record, or, where its key is `id`, that alone (`{ id: 5 }`), for a webhook that has no more. The latter
 * needs a class that declares its `subject`, and an entity of a DataSource.
 */
export type SubjectInput<W> = SubjectOf<W> | (SubjectOf<W> extends { id: unknown } ? Pick<SubjectOf<W>, 'id'> : never);

/** The type of a workflow's arguments. */
export type ArgsOf<W> = W extends WorkflowOf<any, infer Args> ? Args : never;

/**
 * The context of a step of workflow `W`; in a class, `Ctx<this>`. A step with `waitFor` names its signal's type.
 *
 * @example
 * ```ts
 * @Step({ waitFor: PaymentConfirmed })
 * async capture(ctx: Ctx<this, typeof PaymentConfirmed>) { ctx.receivedSignal.payload.amount; }
 * ```
 */
export type Ctx<W, Signal = null> = StepContext<SubjectOf<W>, ArgsOf<W>, Signal>;

/** Runs the members of a fan-out: a provider with `@WorkflowJob()`. */
export interface JobHandler<Args = any> {
  /**
   * May run more than once. A throw is retried, and dead-lettered after `maxAttempts`. Its return value is ignored.
   *
   * @param args what the batch was given
   * @param job the member's id and try, and its run
   */
  perform(args: Args, job: JobContext): unknown;
}

/** What a fan-out's body adds its members to. Nothing is stored before the body returns. */
export abstract class FanOutBatch {
  /**
   * Adds a member: one execution of the handler.
   *
   * @param handler a class with `@WorkflowJob`, a provider of some module
   * @param args stored with the member: plain data, or what a step's arguments may be
   * @param options what is absent comes from the handler's `@WorkflowJob`
   * @throws {WorkflowDefinitionError} for an option that cannot be right, or after the body returned
   */
  abstract add<Args>(handler: new (...deps: any[]) => JobHandler<Args>, args: Args, options?: FanOutJobOptions): void;

  /**
   * @deprecated The workflow owns the batch's end: write what follows as the next step. Throws `WorkflowDefinitionError`.
   * @param unavailable nothing fits
   */
  abstract onComplete(unavailable: never): never;
  /**
   * @deprecated The workflow owns the batch's end: write what follows as the next step. Throws `WorkflowDefinitionError`.
   * @param unavailable nothing fits
   */
  abstract onSuccess(unavailable: never): never;
  /**
   * @deprecated The workflow owns the batch's end: see `onBatchFailure`. Throws `WorkflowDefinitionError`.
   * @param unavailable nothing fits
   */
  abstract onFailure(unavailable: never): never;
}

/** What a fan-out job's handler is given. */
export abstract class JobContext {
  /** The member's id. */
  abstract readonly id: string;
  /** 1 for the member's first try. */
  abstract readonly attempt: number;
  /** Aborts on a lost lease and on shutdown. */
  abstract readonly abortSignal: AbortSignal;
  /** The run that fanned out. */
  abstract readonly workflowId: string;

  /**
   * Where that run stands now; null when it is deleted. Members go on after their run was cancelled or its step skipped:
   * one that should not asks here.
   */
  abstract runStatus(): Promise<RunStatus | null>;
}
