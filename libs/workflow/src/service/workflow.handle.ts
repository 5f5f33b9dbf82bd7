import type { EntityManager } from 'typeorm';
import type { SignalDefinition } from '../definition/signal.js';
import type { RunStatus, Verb } from '../model/states.js';
import { availableActions } from '../model/states.js';
import type { RunRow } from '../store/run.js';
import type { VerbOptions } from '../transition/by.js';
import { callOptions, READ_KEYS, SIGNAL_KEYS, VERB_KEYS } from './call-options.js';
import type { DeliveredSignal, EventRecord, SignalRecord, StepRecord } from './records.js';
import type { RunAccess } from './run-access.js';
import type { SignalOptions } from './signaller.js';

/** Options of a read. */
export interface ReadOptions {
  /** Read through this transaction. Default: the transaction the handle was made in while that is open, else the DataSource. */
  readonly manager?: EntityManager;
}

/**
 * A run, as it was when it was last read or acted on. Its verbs are guarded transitions: one that the run's status does not
 * allow rejects, and changes nothing.
 *
 * @example
 * ```ts
 * const run = await workflows.find(id);
 * await run.pause({ actor: 'alice', reason: 'SMTP is down' });
 * ```
 */
export class WorkflowHandle {
  // Out of the reach of loggers: behind them is the whole engine, with the database's password.
  #row: RunRow;
  readonly #access: RunAccess;
  readonly #madeIn: EntityManager | undefined;

  /** @internal */
  constructor(
    row: RunRow,
    access: RunAccess,
    /** This `start` found the run of an earlier one with the same key. */
    readonly duplicateStart: boolean,
    madeIn: EntityManager | undefined,
  ) {
    this.#row = row;
    this.#access = access;
    this.#madeIn = madeIn;
  }

  /** UUIDv7: ids of later runs sort later. */
  get id(): string {
    return this.#row.id;
  }

  /** The name of its class, as the tables store it. */
  get workflowName(): string {
    return this.#row.workflow_class;
  }

  /** Where it stood when it was last read or acted on. */
  get status(): RunStatus {
    return this.#row.status;
  }

  /** The step its newest attempt belongs to. */
  get currentStep(): string {
    return this.#row.current_step;
  }

  /** The subject's type and id, as stored. */
  get subject(): {
    /** Its entity's name, or its class's. */
    readonly type: string;
    /** Its id, as text. */
    readonly id: string;
  } | null {
    const { subject_type: type, subject_id: id } = this.#row;
    return type === null || id === null ? null : { type, id };
  }

  /** The run that this one repeats. */
  get rerunOf(): string | null {
    return this.#row.rerun_of;
  }

  /** The verbs that are legal in `status`, as events and REST spell them. */
  get availableActions(): readonly Verb[] {
    return availableActions(this.#row.status);
  }

  /** It began on another list of steps than the class in this process has; false where the class is not loaded. */
  get definitionOutdated(): boolean {
    return this.#access.isOutdated(this.#row);
  }

  /**
   * Nothing more is claimed; a body at work goes on and its outcome is recorded.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {InvalidTransitionError} unless ready, performing or waiting
   */
  async pause(options?: VerbOptions): Promise<this> {
    return this.after(this.#access.pause(this.id, this.withManager('pause', options)));
  }

  /**
   * Goes on: a failed step is tried again, an ended one is followed by the next, an open one goes on as it is.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {NotPausedError} unless paused
   */
  async resume(options?: VerbOptions): Promise<this> {
    return this.after(this.#access.resume(this.id, this.withManager('resume', options)));
  }

  /**
   * Runs the named step next, even if it had completed, and the steps after it again.
   *
   * @param step the name of a step of its class
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {NotPausedError} unless paused
   * @throws {StepNotDefinedError} when the class has no such step, or a gravestone there
   */
  async resumeAt(step: string, options?: VerbOptions): Promise<this> {
    return this.after(this.#access.resumeAt(this.id, step, this.withManager('resumeAt', options)));
  }

  /**
   * The scheduled step is due now.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {InvalidTransitionError} unless ready
   */
  async runNow(options?: VerbOptions): Promise<this> {
    return this.after(this.#access.runNow(this.id, this.withManager('runNow', options)));
  }

  /**
   * The scheduled step is due at `date`, earlier or later than before.
   *
   * @param date when the step is due
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {InvalidTransitionError} unless ready
   */
  async reschedule(date: Date, options?: VerbOptions): Promise<this> {
    return this.after(this.#access.reschedule(this.id, date, this.withManager('reschedule', options)));
  }

  /**
   * Ends the run. A body at work is asked to stop (its `abortSignal`), and its outcome is ignored.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {InvalidTransitionError} when it has ended
   */
  async cancel(options?: VerbOptions): Promise<this> {
    return this.after(this.#access.cancel(this.id, this.withManager('cancel', options)));
  }

  /**
   * Passes over the step that the run waits at.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @throws {InvalidTransitionError} unless waiting
   */
  async skip(options?: VerbOptions): Promise<this> {
    return this.after(this.#access.skip(this.id, this.withManager('skip', options)));
  }

  /**
   * Sends the run a signal. A step that waits for it is woken; otherwise it is kept for a step to come.
   *
   * @param signal its name, or what `defineSignal` made
   * @param payload stored with it; default `{}`
   * @param options key, actor, reason and transaction
   * @returns the stored signal; `duplicateDelivery` when one with this key was stored before
   * @throws {NotOngoingError} when the run has ended
   * @throws {PayloadTooLargeError | UnserializableValueError | PayloadValidationError} before anything is written
   * @example
   * ```ts
   * await run.signal(PaymentConfirmed, { amount: 42 }, { idempotencyKey: event.id, actor: 'webhook' });
   * ```
   */
  async signal<Payload>(
    signal: string | SignalDefinition<Payload>,
    payload?: Payload,
    options?: SignalOptions,
  ): Promise<DeliveredSignal> {
    const joined = this.withManager<SignalOptions>('signal', options, SIGNAL_KEYS);
    const delivered = await this.#access.signal(this.id, signal, payload, joined);
    this.#row = delivered.run;
    return delivered.signal;
  }

  /**
   * Starts a new run with the same subject and arguments. This one stays as it is.
   *
   * @param options actor and reason for the audit trail, the transaction to act in, how long to wait for the run's lock
   * @returns the new run
   * @throws {InvalidTransitionError} unless finished or cancelled
   * @throws {AlreadyRunningError} when the subject has an ongoing run
   */
  async rerun(options?: VerbOptions): Promise<WorkflowHandle> {
    return this.#access.rerun(this.id, this.withManager('rerun', options));
  }

  /**
   * Reads the run as it is now.
   *
   * @param options the transaction to read through
   */
  async reload(options?: ReadOptions): Promise<this> {
    this.#row = await this.#access.read(this.id, await this.reader('reload', options));
    return this;
  }

  /**
   * Its attempts, oldest first.
   *
   * @param options the transaction to read through
   */
  async steps(options?: ReadOptions): Promise<StepRecord[]> {
    return this.#access.steps(this.id, await this.reader('steps', options));
  }

  /**
   * Its audit trail, in the order in which it was written.
   *
   * @param options the transaction to read through
   */
  async events(options?: ReadOptions): Promise<EventRecord[]> {
    return this.#access.events(this.id, await this.reader('events', options));
  }

  /**
   * The signals it was sent, oldest first.
   *
   * @param options the transaction to read through
   */
  async signals(options?: ReadOptions): Promise<SignalRecord[]> {
    return this.#access.signals(this.id, await this.reader('signals', options));
  }

  private async after(changed: Promise<RunRow>): Promise<this> {
    this.#row = await changed;
    return this;
  }

  /** A handle made in a transaction acts in it until that ends: from outside, its run is not there yet. */
  private withManager<Options extends VerbOptions = VerbOptions>(
    verb: string,
    given: Options | undefined,
    keys: readonly (keyof Options & string)[] = VERB_KEYS,
  ): Partial<Options> {
    const options = callOptions(given, keys, verb);
    const manager = options.manager ?? this.openManager();
    return manager ? { ...options, manager } : options;
  }

  private reader(read: string, options: ReadOptions | undefined): Promise<EntityManager> {
    const { manager } = callOptions(options, READ_KEYS, read);
    return this.#access.reader(manager ?? this.openManager());
  }

  private openManager(): EntityManager | undefined {
    const queryRunner = this.#madeIn?.queryRunner;
    // Whether its transaction is still open is found out on use: of a raw BEGIN only the driver knows.
    return queryRunner && !queryRunner.isReleased ? this.#madeIn : undefined;
  }
}
