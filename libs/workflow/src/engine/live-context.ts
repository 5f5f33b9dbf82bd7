import type { EntityManager } from 'typeorm';
import { StepContext } from '../definition/context.js';
import { badOption } from '../definition/definition-error.js';
import { parseDuration, type Duration } from '../definition/duration.js';
import { NotInStepError } from '../errors.js';
import { assertPlainObject, copyLiterals, serialize } from '../model/payload.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import { readOutputs } from './outputs.js';
import { StepVerb, type Ending } from './verb.js';

/** Whose code has the context now. */
export type Phase = 'guard' | 'body' | 'policy' | 'ended';

/** The context of one attempt, from its guards to its end. */
export class LiveContext extends StepContext {
  /** Set while a guard's or the transactional step's transaction is open. */
  transactionManager: EntityManager | undefined;
  private phase: Phase = 'body';
  private ending: Ending | undefined;
  private values: Record<string, unknown> | undefined;
  private outputText: string | null = null;

  constructor(
    private readonly attemptInHand: Attempt,
    private readonly parts: EngineParts,
    public subject: unknown,
    public args: any,
  ) {
    super();
  }

  get workflowId(): string {
    return this.attemptInHand.row.workflowId;
  }

  get workflowName(): string {
    return this.attemptInHand.workflow.definition.name;
  }

  get stepName(): string {
    return this.attemptInHand.step.name;
  }

  get attempt(): number {
    return this.attemptInHand.row.attempt;
  }

  get stepIdempotencyKey(): string {
    return `wf:${this.workflowId}:${this.stepName}`;
  }

  get attemptIdempotencyKey(): string {
    return `${this.stepIdempotencyKey}:${this.attempt}`;
  }

  get abortSignal(): AbortSignal {
    return this.attemptInHand.abortSignal;
  }

  get manager(): EntityManager {
    this.assertLive('manager');
    return this.transactionManager ?? this.parts.database.dataSource.manager;
  }

  get receivedSignal(): any {
    this.assertLive('receivedSignal');
    return this.attemptInHand.gate?.signal ?? null;
  }

  get timedOut(): boolean {
    this.assertLive('timedOut');
    return this.attemptInHand.gate?.timedOut ?? false;
  }

  get woken(): boolean {
    this.assertLive('woken');
    return this.attemptInHand.gate?.woken ?? false;
  }

  async signalReady(): Promise<boolean> {
    this.assertLive('signalReady');
    return ((await this.attemptInHand.gate?.find()) ?? null) !== null;
  }

  requireSubject(): any {
    if (this.subject !== null) return this.subject;
    const { subject } = this.attemptInHand.input;
    throw new Error(
      subject
        ? `The subject of workflow ${this.workflowId} is gone: there is no ${subject.type} ${subject.id} any more`
        : `Workflow ${this.workflowId} (${this.workflowName}) was started without a subject`,
    );
  }

  output(values: Record<string, unknown>): void {
    this.assertLive('output');
    const what = `output of ${this.workflowName} step "${this.stepName}"`;
    assertPlainObject(values, what);
    const merged = { ...this.values, ...values };
    const { maxPayloadSize } = this.parts.settings;
    this.outputText = serialize(merged, { what, maxBytes: maxPayloadSize, entities: this.parts.subjects });
    this.values = copyLiterals(merged);
  }

  async outputOf<Values extends object>(step: string): Promise<Values | null> {
    this.assertLive('outputOf');
    // No step can have such a name, and PostgreSQL would refuse to look for it.
    if (typeof step !== 'string' || step.includes('\0')) return null;
    return ((await readOutputs(this.parts, this.attemptInHand, step, this.transactionManager))[step] as Values) ?? null;
  }

  async outputs(): Promise<Record<string, Record<string, any>>> {
    this.assertLive('outputs');
    return readOutputs(this.parts, this.attemptInHand, null, this.transactionManager);
  }

  pause(): never {
    return this.end('pause', 'paused');
  }

  cancel(): never {
    return this.end('cancel', 'cancelled');
  }

  skip(): never {
    return this.end('skip', 'skipped');
  }

  finish(): never {
    return this.end('finish', 'finished');
  }

  reattempt(options?: { wait?: Duration } | null): never {
    const wait = parseDuration(options?.wait ?? 0);
    if (typeof wait !== 'number') {
      const place = { owner: this.workflowName, step: this.stepName };
      throw badOption(place, 'reattempt({ wait })', options?.wait, wait.problem);
    }
    return this.end('reattempt', 'reattempted', wait);
  }

  /** The verb that was called, whatever became of its throw. */
  get verb(): Ending | undefined {
    return this.ending;
  }

  /** What `output` was given, as stored. */
  get storedOutput(): string | null {
    return this.outputText;
  }

  /** A policy's handler calls a verb of its own. */
  forgetVerb(): void {
    this.ending = undefined;
  }

  /** A body that is to run again in the same attempt starts from nothing, with its data loaded anew: the try before may have changed them. */
  startAgain({ subject, args }: LiveContext): void {
    this.forgetVerb();
    this.values = undefined;
    this.outputText = null;
    this.subject = subject;
    this.args = args;
  }

  enter(phase: Phase): void {
    this.phase = phase;
  }

  private end(verb: string, kind: Ending['kind'], wait = 0): never {
    this.assertLive(verb);
    if (this.phase === 'guard') {
      throw new NotInStepError(
        `${this.workflowName}, step "${this.stepName}": ${verb}() was called in a guard. A guard answers true or false; ` +
          'call verbs in the body.',
      );
    }
    this.ending ??= { kind, wait };
    throw new StepVerb(this.ending);
  }

  private assertLive(member: string): void {
    if (this.phase !== 'ended') return;
    throw new NotInStepError(
      `${this.workflowName}, step "${this.stepName}", attempt ${this.attempt} has ended: "${member}" of its context can no longer ` +
        'be used. Await what the body starts, and from outside use the handle of the run.',
    );
  }
}
