import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { shown } from '../definition/definition-error.js';
import type { WorkflowDefinition } from '../definition/definition.js';
import { AlreadyRunningError, PayloadValidationError } from '../errors.js';
import { assertKey, blankToNull } from '../model/names.js';
import { assertPlainObject, serialize } from '../model/payload.js';
import { sqlStateOf } from '../store/sql-state.js';
import { isPassing } from '../store/patience.js';
import { lockRun, type RunRow } from '../store/run.js';
import { checkSchema } from '../store/schema-check.js';
import type { NewRun, StartOf } from '../store/start.js';
import type { Transaction } from '../store/transaction.js';
import { authorOf, lockTimeoutOf, type Author, type ExpectingOptions } from '../transition/by.js';
import { applyMove } from '../transition/change-run.js';
import { scheduleAfter } from '../transition/schedule-of.js';
import { startRuns, type Started } from '../transition/start.js';
import * as verbs from '../transition/verbs.js';
import { callOptions, START_KEYS } from './call-options.js';
import type { ServiceParts } from './service.parts.js';
import { validateDto } from './validate-dto.js';
import type { WorkflowHandle } from './workflow.handle.js';

/** What one start is given. */
export interface StartInput {
  readonly subject?: unknown;
  readonly args?: unknown;
  readonly idempotencyKey?: string | undefined;
  readonly actor?: string | undefined;
  readonly reason?: string | undefined;
}

/** Undefined table, undefined column. */
const MISSING = new Set(['42P01', '42703']);

const SENT_AGAIN_AFTER_MS = [50, 250, 1_000];

type MakeHandle = (run: RunRow, duplicateStart: boolean, manager: EntityManager | undefined) => WorkflowHandle;

/** Starts runs: checks what it is given before any SQL, stores it, and says what stood in the way. */
export class Starter {
  constructor(
    private readonly parts: ServiceParts,
    private readonly handle: MakeHandle,
  ) {}

  async start(workflow: unknown, input: StartInput, manager: EntityManager | undefined): Promise<WorkflowHandle> {
    const definition = this.parts.registry.require(workflow);
    const run = await this.newRun(definition, input);
    const joined = this.parts.database.managerOf(manager);
    const starting = () =>
      this.parts.database.single(joined, (transaction) => startRuns(transaction, this.startOf(definition), [run]));
    const [started] = await this.onTables(this.answered(joined, starting));
    if (started!.kind === 'busy') throw this.alreadyRunning(definition, started!.run, joined, null);
    return this.handleOf(definition, run, started!, joined);
  }

  async startMany(
    workflow: unknown,
    inputs: readonly StartInput[],
    manager: EntityManager | undefined,
  ): Promise<WorkflowHandle[]> {
    const definition = this.parts.registry.require(workflow);
    if (!Array.isArray(inputs)) {
      throw new PayloadValidationError(
        `startMany of ${definition.name} takes a list of what start takes, not ${shown(inputs)}.`,
      );
    }
    const runs: NewRun[] = [];
    for (const [index, input] of inputs.entries()) {
      runs.push(await this.newRun(definition, input).catch((error: unknown) => Promise.reject(atIndex(error, index))));
    }
    assertDistinctSubjects(definition, runs);
    const joined = this.parts.database.managerOf(manager);
    const starting = () =>
      this.parts.database.within(joined, (transaction) =>
        transaction.savepoint(async () => {
          const answers = await startRuns(transaction, this.startOf(definition), runs);
          for (const [index, answer] of answers.entries()) {
            if (answer.kind !== 'busy') continue;
            const earlier = runs.findIndex(({ id }) => id === answer.run.id);
            if (earlier >= 0) throw sameSubject(definition, runs[index]!, earlier, index);
            throw this.alreadyRunning(definition, answer.run, joined, index);
          }
          return answers;
        }),
      );
    const started = await this.onTables(this.answered(joined, starting));
    return runs.map((run, index) => this.handleOf(definition, run, started[index]!, joined));
  }

  /** A new run with the subject and arguments of one that ended. */
  async rerun(id: string, by: Author, options: ExpectingOptions): Promise<WorkflowHandle> {
    const joined = this.parts.database.managerOf(options.manager);
    return this.parts.database.within(joined, (transaction) =>
      transaction.savepoint(() => this.rerunWithin(transaction, id, by, options, joined)),
    );
  }

  private async rerunWithin(
    transaction: Transaction,
    id: string,
    by: Author,
    options: ExpectingOptions,
    joined: EntityManager | undefined,
  ): Promise<WorkflowHandle> {
    const old = await lockRun(transaction.connection, id, lockTimeoutOf(options));
    if (!old) throw verbs.notFound(id);
    verbs.assertExpected('rerun', old, options.expectedStatus);
    verbs.assertLegal('rerun', old);
    const definition = this.parts.registry.require(old.workflow_class);
    const run: NewRun = {
      id: uuidv7(),
      subjectType: old.subject_type,
      subjectId: old.subject_id,
      args: JSON.stringify(old.arguments),
      idempotencyKey: null,
      actor: by.actor,
      reason: by.reason,
    };
    const [started] = await startRuns(transaction, { ...this.startOf(definition), rerunOf: id }, [run]);
    if (started!.kind === 'busy') throw this.alreadyRunning(definition, started!.run, joined, null);
    await applyMove(transaction, old, verbs.rerun(old, by, run.id));
    return this.handleOf(definition, run, started!, joined, id);
  }

  /**
   * A start of our own whose connection was lost is sent again, under the same ids: if it had been carried out, that is found. Not for long: whoever
   * called waits.
   */
  private async answered<T>(joined: EntityManager | undefined, start: () => Promise<T>): Promise<T> {
    for (const pause of SENT_AGAIN_AFTER_MS) {
      try {
        return await start();
      } catch (error) {
        if (joined || !isPassing(error) || this.parts.database.released) throw error;
        await sleep(pause);
      }
    }
    return start();
  }

  /** Tables that went missing since the boot are named as they would have been there. */
  private async onTables<T>(starting: Promise<T>): Promise<T> {
    const { database } = this.parts;
    try {
      return await starting;
    } catch (error) {
      if (MISSING.has(sqlStateOf(error) ?? '')) {
        await database.connect((connection) => checkSchema(connection, database.dataSource));
      }
      throw error;
    }
  }

  private async newRun(definition: WorkflowDefinition, input: StartInput): Promise<NewRun> {
    callOptions(input, START_KEYS, `start of ${definition.name}`);
    const { actor, reason } = authorOf({
      ...(input.actor !== undefined && { actor: input.actor }),
      ...(input.reason !== undefined && { reason: input.reason }),
    });
    const idempotencyKey = blankToNull(input.idempotencyKey, 'idempotency key');
    if (idempotencyKey !== null) assertKey(idempotencyKey, 'idempotency key');
    // An instance of the declared DTO, as a ValidationPipe makes it, is as good as its plain values.
    const args = definition.args && input.args instanceof definition.args ? { ...input.args } : (input.args ?? {});
    const what = `arguments of ${definition.name}`;
    assertPlainObject(args, what);
    const subject = this.parts.subjects.subjectReference(definition, input.subject);
    // First, because the DTO's classes are not safe from cycles and depths.
    const stored = serialize(args, {
      what,
      maxBytes: this.parts.settings.maxPayloadSize,
      entities: this.parts.subjects,
    });
    if (definition.args) await validateDto(definition.args, args, what);
    return {
      id: uuidv7(),
      subjectType: subject?.type ?? null,
      subjectId: subject?.id ?? null,
      args: stored,
      idempotencyKey,
      actor,
      reason,
    };
  }

  private startOf(definition: WorkflowDefinition): StartOf {
    return {
      workflow: definition.name,
      digest: definition.digest,
      first: scheduleAfter(definition, definition.first, this.parts.settings.queue),
      rerunOf: null,
    };
  }

  private handleOf(
    definition: WorkflowDefinition,
    run: NewRun,
    started: Started,
    manager: EntityManager | undefined,
    rerunOf: string | null = null,
  ): WorkflowHandle {
    if (started.kind !== 'started') return this.handle(started.run, true, manager);
    const row: RunRow = {
      id: run.id,
      workflow_class: definition.name,
      subject_type: run.subjectType,
      subject_id: run.subjectId,
      arguments: JSON.parse(run.args) as unknown,
      status: 'ready',
      current_step: definition.first.name,
      definition_digest: definition.digest,
      rerun_of: rerunOf,
    };
    return this.handle(row, false, manager);
  }

  private alreadyRunning(
    { name }: WorkflowDefinition,
    run: RunRow,
    manager: EntityManager | undefined,
    index: number | null,
  ): AlreadyRunningError {
    const which = index === null ? '' : ` (number ${index} of startMany; none was started)`;
    return new AlreadyRunningError(
      `${name} already has an ongoing run for ${run.subject_type} ${run.subject_id}: workflow ${run.id} is ${run.status}${which}. ` +
        'Use that one (error.run), wait for its end, or cancel it.',
      this.handle(run, false, manager),
    );
  }
}

/** One with a key may turn out to be an earlier run, and take no slot: those are left to the database. */
function assertDistinctSubjects(definition: WorkflowDefinition, runs: readonly NewRun[]): void {
  const seen = new Map<string, number>();
  for (const [index, run] of runs.entries()) {
    const { subjectType, subjectId, idempotencyKey } = run;
    if (subjectType === null || idempotencyKey !== null) continue;
    const key = JSON.stringify([subjectType, subjectId]);
    const first = seen.get(key);
    if (first !== undefined) throw sameSubject(definition, run, first, index);
    seen.set(key, index);
  }
}

function sameSubject(
  { name }: WorkflowDefinition,
  { subjectType, subjectId }: NewRun,
  ...places: [number, number]
): PayloadValidationError {
  const [first, second] = places.toSorted((a, b) => a - b);
  return new PayloadValidationError(
    `startMany: numbers ${first} and ${second} have the same subject, ${subjectType} ${subjectId}, and ${name} may have one ` +
      'ongoing run for it. None was started.',
  );
}

/** The same error, with the place in the list before its message. */
function atIndex(error: unknown, index: number): unknown {
  if (error instanceof Error) error.message = `startMany, number ${index} (none was started): ${error.message}`;
  return error;
}
