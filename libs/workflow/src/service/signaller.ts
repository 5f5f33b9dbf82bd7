import type { EntityManager } from 'typeorm';
import type { StepDefinition, WorkflowDefinition } from '../definition/definition.js';
import { fits, nameAlone, type SignalDefinition } from '../definition/signal.js';
import { NotOngoingError, PayloadValidationError } from '../errors.js';
import { assertKey, blankToNull, nameProblem } from '../model/names.js';
import { assertPlainObject, deserialize, serialize } from '../model/payload.js';
import { isLegal, isOngoing } from '../model/states.js';
import { publish } from '../observe/channels.js';
import { sqlStateOf } from '../store/sql-state.js';
import { stepKeys } from '../store/step-key.js';
import { currentRow, lockRun, type RunRow, type StepRow } from '../store/run.js';
import { claimSignal, insertSignal, recordDuplicate, signalByKey, wake, type SignalRow } from '../store/signals.js';
import type { Transaction } from '../store/transaction.js';
import { authorOf, lockTimeoutOf, type ExpectingOptions, type VerbOptions } from '../transition/by.js';
import { applyMove } from '../transition/change-run.js';
import * as verbs from '../transition/verbs.js';
import type { ServiceParts } from './service.parts.js';
import { validateDto } from './validate-dto.js';

/** Options of a delivery. */
export interface SignalOptions extends VerbOptions {
  /** The same delivery again, with the same key, stores nothing and wakes nothing. Unique for the run; blank: none. */
  readonly idempotencyKey?: string;
}

/** A signal that was checked and can be stored. */
export interface Delivery {
  readonly name: string;
  /** As stored: JSON text. */
  readonly payload: string;
  readonly idempotencyKey: string | null;
  readonly actor: string;
  readonly reason: string | null;
}

export interface Delivered {
  readonly signal: SignalRow;
  /** The signal's, read anew. */
  readonly payload: unknown;
  readonly duplicate: boolean;
  /** The run afterwards. */
  readonly run: RunRow;
}

/** Delivers signals: checked before any SQL, stored under the run's lock, and given to the step that waits for it. */
export class Signaller {
  constructor(private readonly parts: ServiceParts) {}

  /** @throws {PayloadValidationError | PayloadTooLargeError | UnserializableValueError} */
  async prepare(signal: string | SignalDefinition, payload: unknown, options: SignalOptions): Promise<Delivery> {
    const { name, dto } = readSignal(signal);
    const given = dto && payload instanceof dto ? { ...payload } : (payload ?? {});
    const what = `payload of signal "${name}"`;
    assertPlainObject(given, what);
    if (dto) await validateDto(dto, given, what);
    const idempotencyKey = blankToNull(options.idempotencyKey, 'idempotency key');
    if (idempotencyKey !== null) assertKey(idempotencyKey, 'idempotency key');
    const { maxPayloadSize } = this.parts.settings;
    return {
      name,
      payload: serialize(given, { what, maxBytes: maxPayloadSize, entities: this.parts.subjects }),
      idempotencyKey,
      ...authorOf(options),
    };
  }

  /**
   * Delivers to a run that waits for a signal of just that name, as most do, in one statement. Undefined when it is not that simple: nothing
   * was written, and `deliver` is to look at it under the run's lock. So are matchers, which are the application's code.
   */
  async wake(transaction: Transaction, workflowId: string, delivery: Delivery): Promise<Delivered | undefined> {
    const { connection, joined } = transaction;
    // The same key, sent twice at once, may violate its unique index: a caller's transaction would not survive that.
    if (joined && delivery.idempotencyKey !== null) return undefined;
    const steps = this.stepsThatTake(delivery.name);
    if (!steps.length) return undefined;
    const payload = await this.read(delivery, connection.manager);
    const woken = await wake(connection, steps, { workflowId, ...delivery }).catch(takenKey);
    if (!woken) return undefined;
    const { signal, run, queue, priority } = woken;
    transaction.announce({ kind: 'due', queue, priority, dueIn: 0 });
    return told(transaction, { signal, payload, duplicate: false, run });
  }

  /** The steps of the loaded classes that take a signal for this name alone. */
  private stepsThatTake(signal: string): readonly string[] {
    const takes = ({ waitFor }: StepDefinition) => waitFor !== null && nameAlone(waitFor) === signal;
    return stepKeys(this.parts.registry.all(), takes);
  }

  /**
   * @throws {WorkflowNotFoundError}
   * @throws {NotOngoingError} when the run has ended, and the key is not one that it got while it went on
   * @throws {WorkflowDefinitionError} when the run's class, which says what its steps wait for, is not loaded here
   */
  async deliver(
    transaction: Transaction,
    workflowId: string,
    delivery: Delivery,
    options: ExpectingOptions,
  ): Promise<Delivered> {
    const { connection } = transaction;
    const run = await lockRun(connection, workflowId, lockTimeoutOf(options));
    if (!run) throw verbs.notFound(workflowId);
    const { idempotencyKey: key } = delivery;
    const known = key === null ? undefined : await signalByKey(connection, workflowId, key);
    if (known) {
      if (isOngoing(run.status)) await recordDuplicate(connection, known, delivery);
      const payload = await this.load(known.payload, connection.manager);
      return told(transaction, { signal: known, payload, duplicate: true, run });
    }
    // After the look for its key: the first delivery may have been what changed the status.
    verbs.assertExpected('signal', run, options.expectedStatus);
    if (!isLegal('signal', run.status)) throw this.notOngoing(run);
    const definition = this.parts.registry.require(run.workflow_class);
    const row = await currentRow(connection, run);
    const takes = row !== undefined && (await this.takes(definition, row, delivery, connection.manager));
    const payload = await this.read(delivery, connection.manager);
    const signal = await insertSignal(connection, { workflowId, ...delivery });
    if (!takes) return told(transaction, { signal, payload, duplicate: false, run });
    await claimSignal(connection, signal.id, row.id, true);
    const paused = run.status === 'paused';
    const changed = await applyMove(transaction, run, {
      path: [paused ? 'hold' : 'wake'],
      run: { id: run.id, from: run.status, to: paused ? 'paused' : 'ready' },
      keep: { id: row.id, due: 'wake' },
      events: [],
    });
    const claimed = { ...signal, status: 'claimed' as const, claimed_by_step_id: row.id };
    return told(transaction, { signal: claimed, payload, duplicate: false, run: changed.run });
  }

  /** Whether the run's step is parked on such a signal. The matcher is the application's code: its throw is the caller's. */
  private async takes(
    definition: WorkflowDefinition,
    row: StepRow,
    delivery: Delivery,
    manager: EntityManager,
  ): Promise<boolean> {
    if (row.status !== 'waiting' || row.batch_size !== null) return false;
    const waitFor = definition.step(row.step_name)?.waitFor;
    if (!waitFor) return false;
    return fits(waitFor, { name: delivery.name, payload: await this.read(delivery, manager) });
  }

  private read(delivery: Delivery, manager: EntityManager): Promise<unknown> {
    return this.load(JSON.parse(delivery.payload), manager);
  }

  /** Through the transaction's manager: an entity that the caller saved in it is there for no other connection yet. */
  private load(payload: unknown, manager: EntityManager): Promise<unknown> {
    return deserialize(payload, { load: (reference) => this.parts.subjects.load(reference, manager) });
  }

  private notOngoing(run: RunRow): NotOngoingError {
    return new NotOngoingError(`Workflow ${run.id} is ${run.status}: it takes no more signals. Nothing was stored.`);
  }
}

/** Has it told after the commit. */
function told(transaction: Transaction, delivered: Delivered): Delivered {
  const { run, signal, duplicate } = delivered;
  const { name, status } = signal;
  const about = { workflowClass: run.workflow_class, workflowId: run.id };
  transaction.afterCommit(() => publish('workflow.signal', { ...about, signal: name, status, duplicate }));
  return delivered;
}

/** Somebody else's delivery under the same key came in between. */
function takenKey(error: unknown): undefined {
  if (sqlStateOf(error) !== '23505') throw error;
}

/** @throws {PayloadValidationError} when it is neither a name nor what `defineSignal` returned */
function readSignal(signal: unknown): { name: string; dto: SignalDefinition<object>['payload'] } {
  const defined: Partial<SignalDefinition<object>> | null = typeof signal === 'object' ? signal : null;
  const name: unknown = defined ? defined.name : signal;
  const dto = defined?.payload ?? null;
  if (typeof name !== 'string' || (dto !== null && typeof dto !== 'function')) {
    throw new PayloadValidationError('The signal must be a name or what defineSignal returned.');
  }
  const problem = nameProblem(name);
  if (problem !== null) throw new PayloadValidationError(`The signal's name ${problem}.`);
  return { name, dto };
}
