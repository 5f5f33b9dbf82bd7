import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ArgsOf, SubjectInput, WorkflowOf } from '../definition/context.js';
import { ongoingOnSteps } from '../store/gravestones.js';
import { ongoingRunOf } from '../store/start.js';
import type { SignalDefinition } from '../definition/signal.js';
import { NotOngoingError, PayloadValidationError } from '../errors.js';
import { callOptions, READ_KEYS, SIGNAL_KEYS, START_KEYS } from './call-options.js';
import type { DeliveredSignal } from './records.js';
import { RunAccess, type Repositories } from './run-access.js';
import type { ServiceParts } from './service.parts.js';
import type { SignalOptions } from './signaller.js';
import { Starter, type StartInput } from './starter.js';
import { WorkflowHandle, type ReadOptions } from './workflow.handle.js';

/** A workflow class, as `start` takes it. */
export type WorkflowType<W extends WorkflowOf<any, any>> = abstract new (...args: any[]) => W;

/** What a run is started with. */
export type StartOptions<W> = {
  /**
   * Who or what the run is about: an entity, or a value with a `@SubjectLoader`. The tables store its type and id. A subject has
   * at most one ongoing run of a class.
   */
  subject?: SubjectInput<W> | null;
  /** The same request again, with the same key, gets the same run back: see `duplicateStart`. Unique for the class; blank: none. */
  idempotencyKey?: string;
  /** Who starts it, for the audit trail. Default `app`. */
  actor?: string;
  /** Why, for the audit trail. */
  reason?: string;
} & ArgsOption<ArgsOf<W>>;

/** Required when the class says it has arguments that are. */
type ArgsOption<Args> = Record<string, never> extends Args ? { args?: Args } : { args: Args };

/**
 * Starts workflows and finds them again.
 *
 * @example
 * ```ts
 * constructor(private readonly workflows: WorkflowService) {}
 *
 * async checkout(order: Order) {
 *   return this.workflows.start(OrderWorkflow, { subject: order, args: { plan: 'pro' }, idempotencyKey: `checkout-${order.id}` });
 * }
 * ```
 */
@Injectable()
export class WorkflowService {
  private readonly starter: Starter;
  /** @internal What REST and MCP act through: it can be told which status to expect. */
  readonly access: RunAccess;

  /** @internal */
  constructor(
    private readonly parts: ServiceParts,
    repositories: Repositories,
  ) {
    this.starter = new Starter(
      parts,
      (run, duplicateStart, manager) => new WorkflowHandle(run, this.access, duplicateStart, manager),
    );
    this.access = new RunAccess(parts, repositories, this.starter);
  }

  /**
   * Starts a run: writes it, its first step and the first lines of its audit trail in one transaction, `manager`'s or the ambient
   * one when there is one. Its first step runs once that has committed.
   *
   * @param workflow the class
   * @param options what it is started with; `manager`: the transaction to join
   * @throws {AlreadyRunningError} when the class has an ongoing run for the subject: `error.run`
   * @throws {PayloadTooLargeError | UnserializableValueError | PayloadValidationError} before anything is written
   * @throws {WorkflowDefinitionError} when the class is not loaded in this process
   */
  async start<W extends WorkflowOf<any, any>>(
    workflow: WorkflowType<W>,
    ...[options]: StartArguments<W>
  ): Promise<WorkflowHandle> {
    const { manager, ...input } = callOptions<StartInput & { manager?: EntityManager }>(
      options,
      [...START_KEYS, 'manager'],
      'start',
    );
    return this.starter.start(workflow, input, manager);
  }

  /**
   * Starts many runs of one class, some hundred a statement: all of them or, when one may not start, none.
   *
   * @param workflow the class
   * @param inputs what each run is started with
   * @param options `manager`: the transaction to join
   * @returns handles in the order of `inputs`
   * @throws what `start` throws; the message names the place in `inputs`
   */
  async startMany<W extends WorkflowOf<any, any>>(
    workflow: WorkflowType<W>,
    inputs: readonly StartOptions<W>[],
    options?: { manager?: EntityManager },
  ): Promise<WorkflowHandle[]> {
    const { manager } = callOptions(options, READ_KEYS, 'startMany');
    return this.starter.startMany(workflow, inputs, manager);
  }

  /**
   * The run of this id.
   *
   * @param id the run's
   * @param options the transaction to read through
   * @throws {WorkflowNotFoundError}
   */
  async find(id: string, options?: ReadOptions): Promise<WorkflowHandle> {
    const { manager } = callOptions(options, READ_KEYS, 'find');
    const joined = this.parts.database.managerOf(manager);
    const run = await this.access.read(id, await this.access.reader(joined));
    return new WorkflowHandle(run, this.access, false, joined);
  }

  /**
   * The class's ongoing run for this subject, or null.
   *
   * @param workflow the class
   * @param subject what the run is about
   * @param options the transaction to read through
   */
  async findOngoing<W extends WorkflowOf<any, any>>(
    workflow: WorkflowType<W>,
    subject: NonNullable<SubjectInput<W>>,
    options?: ReadOptions,
  ): Promise<WorkflowHandle | null> {
    const { manager } = callOptions(options, READ_KEYS, 'findOngoing');
    const definition = this.parts.registry.require(workflow);
    const reference = this.parts.subjects.subjectReference(definition, subject);
    if (!reference)
      throw new PayloadValidationError('findOngoing: a subject is needed; a run without one is found by its id.');
    const joined = this.parts.database.managerOf(manager);
    const run = await this.parts.database.single(joined, ({ connection }) =>
      ongoingRunOf(connection, definition.name, reference),
    );
    return run ? new WorkflowHandle(run, this.access, false, joined) : null;
  }

  /**
   * Sends a signal to the class's ongoing run for this subject: for a webhook that knows the order, not the run. Where both are at hand,
   * prefer the handle: a delivery that comes again after that run ended and a new one began is a new signal for the new run.
   *
   * @param workflow the class
   * @param subject what the run is about
   * @param signal its name, or what `defineSignal` made
   * @param payload stored with it; default `{}`
   * @param given key, actor, reason and transaction; `missing`: what to do when there is no such run, default `'raise'`
   * @returns the stored signal, or null with `missing: 'ignore'` when the subject has no ongoing run
   * @throws {NotOngoingError} when the subject has no ongoing run
   */
  async signal<W extends WorkflowOf<any, any>, Payload>(
    workflow: WorkflowType<W>,
    subject: NonNullable<SubjectInput<W>>,
    signal: string | SignalDefinition<Payload>,
    payload?: Payload,
    given?: SignalOptions & { missing?: 'raise' | 'ignore' },
  ): Promise<DeliveredSignal | null> {
    const { missing = 'raise', ...options } = callOptions(given, [...SIGNAL_KEYS, 'missing'], 'signal');
    if (missing !== 'raise' && missing !== 'ignore') {
      throw new PayloadValidationError(`signal: "missing" is ${JSON.stringify(missing)}; allowed: "raise", "ignore".`);
    }
    const definition = this.parts.registry.require(workflow);
    const reference = this.parts.subjects.subjectReference(definition, subject);
    if (!reference)
      throw new PayloadValidationError('signal: a subject is needed; a run without one is signalled by its handle.');
    const delivered = await this.access.signalOngoing(definition.name, reference, signal, payload, options);
    if (delivered || missing === 'ignore') return delivered;
    throw new NotOngoingError(
      `${definition.name} has no ongoing run for ${reference.type} ${reference.id}: the signal was not stored. Pass missing: 'ignore' when that ` +
        'is to be expected.',
    );
  }

  /**
   * How many ongoing runs stand on each gravestone of the class. At zero it may be deleted.
   *
   * @param workflow the class
   */
  async removedStepsInFlight<W extends WorkflowOf<any, any>>(
    workflow: WorkflowType<W>,
  ): Promise<Record<string, number>> {
    const definition = this.parts.registry.require(workflow);
    const gravestones = definition.steps.filter(({ kind }) => kind === 'removed').map(({ name }) => name);
    const counts = await this.parts.database.connect((connection) =>
      ongoingOnSteps(connection, definition.name, gravestones),
    );
    return Object.fromEntries(gravestones.map((name) => [name, counts.get(name) ?? 0]));
  }
}

type StartArguments<W> =
  Record<string, never> extends ArgsOf<W>
    ? [options?: StartOptions<W> & { manager?: EntityManager }]
    : [options: StartOptions<W> & { manager?: EntityManager }];
