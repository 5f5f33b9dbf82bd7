import { FanOutBatch, type JobHandler } from '../definition/context.js';
import { jobOf } from '../definition/declarations.js';
import { classLabel, definitionError, shown } from '../definition/definition-error.js';
import { checkFanOutJobOptions, type FanOutJobOptions } from '../definition/job-options.js';
import { serialize } from '../model/payload.js';
import type { NewMember } from '../store/batches.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';

/** Collects the members that a fan-out's body adds. Nothing is stored before the body returned. */
export class LiveBatch extends FanOutBatch {
  readonly members: NewMember[] = [];
  private closed = false;

  constructor(
    private readonly attempt: Attempt,
    private readonly parts: EngineParts,
  ) {
    super();
  }

  add<Args>(handler: new (...deps: any[]) => JobHandler<Args>, args: Args, options?: FanOutJobOptions): void {
    if (this.closed) throw this.refuse('batch.add was called after the body returned; await what the body starts.');
    const job = jobOf(handler);
    if (!job || !this.parts.registry.job(job.name)) {
      const name = typeof handler === 'function' ? classLabel(handler) : shown(handler);
      throw this.refuse(
        `${name} is no job of this application: decorate it with @WorkflowJob() and list it in the providers of a module.`,
      );
    }
    const { queue, priority, wait } = checkFanOutJobOptions(options, this.place);
    const { maxPayloadSize, queue: defaultQueue } = this.parts.settings;
    this.members.push({
      job: job.name,
      args: serialize(args ?? {}, {
        what: `arguments of job ${job.name}`,
        maxBytes: maxPayloadSize,
        entities: this.parts.subjects,
      }),
      queue: queue ?? job.queue ?? defaultQueue,
      priority: priority ?? job.priority,
      wait: wait ?? 0,
    });
  }

  onComplete(): never {
    throw this.ownedByWorkflow('onComplete');
  }

  onSuccess(): never {
    throw this.ownedByWorkflow('onSuccess');
  }

  onFailure(): never {
    throw this.ownedByWorkflow('onFailure');
  }

  close(): void {
    this.closed = true;
  }

  private ownedByWorkflow(callback: string): Error {
    return this.refuse(
      `batch.${callback} is not yours to set: the workflow owns the batch's end. Write what follows as the next step, and ` +
        'set onBatchFailure for what failures do.',
    );
  }

  private refuse(text: string): Error {
    return definitionError(this.place, text);
  }

  private get place() {
    return { owner: this.attempt.workflow.definition.name, step: this.attempt.step.name };
  }
}
