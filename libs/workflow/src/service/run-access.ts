import type { EntityManager, Repository } from 'typeorm';
import type { WorkflowDefinition } from '../definition/definition.js';
import { nameAlone, type SignalDefinition } from '../definition/signal.js';
import { NotOngoingError, PayloadValidationError } from '../errors.js';
import { RUN_ID } from '../model/run-id.js';
import { WorkflowEvent } from '../model/workflow-event.entity.js';
import { WorkflowRun } from '../model/workflow-run.entity.js';
import { WorkflowSignal } from '../model/workflow-signal.entity.js';
import { WorkflowStep } from '../model/workflow-step.entity.js';
import type { Verb } from '../model/states.js';
import type { RunRow } from '../store/run.js';
import { ongoingRunOf } from '../store/start.js';
import { authorOf, lockTimeoutOf, type Author, type ExpectingOptions } from '../transition/by.js';
import { changeRun, type LockedRun, type Move } from '../transition/change-run.js';
import * as verbs from '../transition/verbs.js';
import type { ServiceParts } from './service.parts.js';
import {
  eventRecord,
  type DeliveredSignal,
  signalRecord,
  stepRecord,
  type EventRecord,
  type SignalRecord,
  type StepRecord,
} from './records.js';
import { Signaller, type Delivered, type Delivery, type SignalOptions } from './signaller.js';
import type { Starter } from './starter.js';
import type { WorkflowHandle } from './workflow.handle.js';

/** The repositories of the four tables. */
export interface Repositories {
  readonly runs: Repository<WorkflowRun>;
  readonly steps: Repository<WorkflowStep>;
  readonly events: Repository<WorkflowEvent>;
  readonly signals: Repository<WorkflowSignal>;
}

/** PostgreSQL's timestamps reach further, JavaScript's do not. */
const LATEST = new Date('9999-12-31T23:59:59.999Z');

function deliveredSignal({ signal, payload, duplicate }: Delivered): DeliveredSignal {
  return {
    id: signal.id,
    workflowId: signal.workflow_id,
    name: signal.name,
    payload,
    idempotencyKey: signal.idempotency_key,
    status: signal.status,
    duplicateDelivery: duplicate,
  };
}

/** What handles do: the verbs and reads of one run. */
export class RunAccess {
  private readonly signaller: Signaller;

  constructor(
    private readonly parts: ServiceParts,
    private readonly repositories: Repositories,
    private readonly starter: Starter,
  ) {
    this.signaller = new Signaller(parts);
  }

  pause(id: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('pause', id, options, (locked, by) => verbs.pause(locked, by));
  }

  resume(id: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('resume', id, options, (locked, by) => {
      verbs.assertLegal('resume', locked.run);
      return verbs.resume(locked, by, this.definitionOf(locked), this.defaults);
    });
  }

  resumeAt(id: string, step: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('resume_at', id, options, (locked, by) => {
      verbs.assertLegal('resume_at', locked.run);
      return verbs.resumeAt(locked, by, this.definitionOf(locked), step, this.defaults);
    });
  }

  skip(id: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('skip', id, options, (locked, by) => {
      verbs.assertLegal('skip', locked.run);
      return verbs.skip(locked, by, this.definitionOf(locked), this.defaults);
    });
  }

  /** Stores a signal for the run, and wakes its step when that waits for it. */
  async signal(
    id: string,
    signal: string | SignalDefinition,
    payload: unknown,
    options: SignalOptions & ExpectingOptions,
  ): Promise<{ signal: DeliveredSignal; run: RunRow }> {
    const delivery = await this.signaller.prepare(signal, payload, options);
    const delivered = await this.deliver(this.existing(id), delivery, options);
    return { signal: deliveredSignal(delivered), run: delivered.run };
  }

  /** As `signal`, for the subject's ongoing run; null when there is none. */
  async signalOngoing(
    workflow: string,
    subject: { type: string; id: string },
    signal: string | SignalDefinition,
    payload: unknown,
    options: SignalOptions,
  ): Promise<DeliveredSignal | null> {
    const delivery = await this.signaller.prepare(signal, payload, options);
    const run = await this.parts.database.single(options.manager, ({ connection }) =>
      ongoingRunOf(connection, workflow, subject),
    );
    const delivered = run && (await this.deliver(run.id, delivery, options).catch(endedMeanwhile));
    return delivered ? deliveredSignal(delivered) : null;
  }

  /** What `defineSignal` made of this name for a step of the class, which may check payloads; else the name alone. */
  declaredSignal(workflow: string, name: string): string | SignalDefinition {
    const steps = this.parts.registry.get(workflow)?.definition.steps ?? [];
    const matchers = steps.flatMap(({ waitFor }) => (waitFor && nameAlone(waitFor) === name ? [waitFor] : []));
    return (matchers as SignalDefinition[]).find(({ payload }) => payload !== null) ?? name;
  }

  private async deliver(id: string, delivery: Delivery, options: ExpectingOptions): Promise<Delivered> {
    const { database } = this.parts;
    const lockTimeout = lockTimeoutOf(options);
    // What is expected of the run is asked under its lock.
    const woken =
      lockTimeout === undefined && options.expectedStatus === undefined
        ? await database.single(options.manager, (transaction) => this.signaller.wake(transaction, id, delivery))
        : undefined;
    return (
      woken ??
      database.within(options.manager, (transaction) => this.signaller.deliver(transaction, id, delivery, options))
    );
  }

  cancel(id: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('cancel', id, options, (locked, by) => verbs.cancel(locked, by));
  }

  runNow(id: string, options: ExpectingOptions): Promise<RunRow> {
    return this.change('run_now', id, options, (locked, by) => verbs.runNow(locked, by));
  }

  async reschedule(id: string, date: Date, options: ExpectingOptions): Promise<RunRow> {
    if (!(date instanceof Date) || Number.isNaN(date.getTime()) || date > LATEST || date.getTime() < 0) {
      throw new PayloadValidationError(
        `reschedule takes a Date between 1970 and 9999; given: ${date instanceof Date ? 'an invalid or far-off Date' : String(date)}.`,
      );
    }
    return this.change('reschedule', id, options, (locked, by) => verbs.reschedule(locked, by, date));
  }

  async rerun(id: string, options: ExpectingOptions): Promise<WorkflowHandle> {
    const by = authorOf(options);
    return this.starter.rerun(this.existing(id), by, options);
  }

  isOutdated(run: RunRow): boolean {
    const loaded = this.parts.registry.get(run.workflow_class);
    return loaded !== undefined && loaded.definition.digest !== run.definition_digest;
  }

  /** The manager that reads go through. */
  reader(manager: EntityManager | undefined): Promise<EntityManager> {
    return this.parts.database.readerOf(manager);
  }

  async read(id: string, manager: EntityManager): Promise<RunRow> {
    const run = RUN_ID.test(id) ? await this.of(manager, this.repositories.runs).findOneBy({ id }) : null;
    if (!run) throw verbs.notFound(id);
    return runRow(run);
  }

  async steps(id: string, manager: EntityManager): Promise<StepRecord[]> {
    const rows = await this.of(manager, this.repositories.steps).find({
      where: { workflowId: id, memberIndex: -1 },
      order: { id: 'ASC' },
    });
    return Promise.all(rows.map((row) => stepRecord(row, (reference) => this.parts.subjects.load(reference, manager))));
  }

  async events(id: string, manager: EntityManager): Promise<EventRecord[]> {
    const rows = await this.of(manager, this.repositories.events).find({
      where: { workflowId: id },
      order: { id: 'ASC' },
    });
    const attempts = await this.of(manager, this.repositories.steps).find({
      select: { id: true, stepName: true, attempt: true },
      where: { workflowId: id, memberIndex: -1 },
    });
    const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]));
    return rows.map((row) => eventRecord(row, row.stepId === null ? undefined : byId.get(row.stepId)));
  }

  async signals(id: string, manager: EntityManager): Promise<SignalRecord[]> {
    const rows = await this.of(manager, this.repositories.signals).find({
      where: { workflowId: id },
      order: { id: 'ASC' },
    });
    return Promise.all(
      rows.map((row) => signalRecord(row, (reference) => this.parts.subjects.load(reference, manager))),
    );
  }

  private async change(
    verb: Verb,
    id: string,
    options: ExpectingOptions,
    decide: (locked: LockedRun, by: Author) => Move,
  ): Promise<RunRow> {
    const by = authorOf(options);
    const lockTimeout = lockTimeoutOf(options);
    const changed = await this.parts.database.within(options.manager, (transaction) =>
      changeRun(
        transaction,
        this.existing(id),
        (locked) => {
          verbs.assertExpected(verb, locked.run, options.expectedStatus);
          return decide(locked, by);
        },
        lockTimeout === undefined ? {} : { lockTimeout },
      ),
    );
    if (!changed) throw verbs.notFound(id);
    return changed.run;
  }

  private existing(id: string): string {
    if (!RUN_ID.test(id)) throw verbs.notFound(id);
    return id;
  }

  /** What comes next is the class's to say, so it has to be loaded. */
  private definitionOf({ run }: LockedRun): WorkflowDefinition {
    return this.parts.registry.require(run.workflow_class);
  }

  private get defaults() {
    return { defaultQueue: this.parts.settings.queue };
  }

  private of<Entity extends object>(manager: EntityManager, repository: Repository<Entity>): Repository<Entity> {
    return manager === repository.manager ? repository : manager.withRepository(repository);
  }
}

function runRow(run: WorkflowRun): RunRow {
  return {
    id: run.id,
    workflow_class: run.workflowClass,
    subject_type: run.subjectType,
    subject_id: run.subjectId,
    arguments: run.arguments,
    status: run.status,
    current_step: run.currentStep,
    definition_digest: run.definitionDigest,
    rerun_of: run.rerunOf,
  };
}

/** The run ended between the look for it and its lock: by subject, that is as if there were none. */
function endedMeanwhile(error: unknown): undefined {
  if (error instanceof NotOngoingError) return undefined;
  throw error;
}
