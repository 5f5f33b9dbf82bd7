import type { RunStatus, Verb } from '../model/states.js';
import type { RunAccess } from '../service/run-access.js';
import type { WorkflowService } from '../service/workflow.service.js';
import type { RunRow } from '../store/run.js';
import { Semaphore } from '../store/semaphore.js';
import type { ExpectingOptions } from '../transition/by.js';
import { momentOf } from './input-rules.js';

/** Whoever waits for an answer is not kept until somebody's transaction lets the run go. */
const LOCK_TIMEOUT_MS = 3_000;

/** Verbs at once: they may wait for a run that somebody holds, and each has a connection of the application's pool meanwhile. */
const AT_ONCE = 4;

/** What every verb is told. */
export interface Why {
  readonly reason?: string | null;
  readonly expected_status?: RunStatus | null;
}

/** What a verb is told beside that, checked. */
export interface VerbInput {
  readonly pause: object;
  readonly resume: object;
  readonly resume_at: { readonly step: string };
  readonly run_now: object;
  readonly reschedule: { readonly at: string };
  readonly skip: object;
  readonly signal: {
    readonly name: string;
    readonly payload?: Record<string, unknown> | null;
    readonly idempotency_key?: string | null;
  };
  readonly rerun: object;
  readonly cancel: object;
}

/** What a verb did: words for whoever asked, and what else its answer has. */
export interface Done {
  readonly reason: string;
  readonly more?: object;
}

interface Call {
  readonly access: RunAccess;
  readonly run: RunRow;
  readonly options: ExpectingOptions;
}

/**
 * The verbs of one run, as people and programs outside of the application call them: REST and MCP both. Each is the service's own guarded transition, for
 * the run as somebody saw it or not at all.
 */
export class Acting {
  private readonly turns = new Semaphore(AT_ONCE);

  constructor(private readonly workflows: WorkflowService) {}

  /** @throws {WorkflowNotFoundError} */
  async find(id: string): Promise<RunRow> {
    const { access } = this.workflows;
    return access.read(id, await access.reader(undefined));
  }

  /** @throws what the verb throws: nothing was done then */
  perform<V extends Verb>(verb: V, run: RunRow, input: VerbInput[V] & Why, actor: string): Promise<Done> {
    const options: ExpectingOptions = {
      actor,
      lockTimeout: LOCK_TIMEOUT_MS,
      ...(input.reason != null && { reason: input.reason }),
      ...(input.expected_status != null && { expectedStatus: input.expected_status }),
    };
    const call = { access: this.workflows.access, run, options };
    return this.turns.hold(() => VERBS[verb](call, input));
  }
}

const VERBS: { readonly [V in Verb]: (call: Call, input: VerbInput[V]) => Promise<Done> } = {
  async pause({ access, run, options }) {
    await access.pause(run.id, options);
    return { reason: 'Paused.' };
  },
  async resume({ access, run, options }) {
    await access.resume(run.id, options);
    return { reason: 'Resumed.' };
  },
  async resume_at({ access, run, options }, { step }) {
    await access.resumeAt(run.id, step, options);
    return { reason: `Resumed at step "${step}".` };
  },
  async run_now({ access, run, options }) {
    await access.runNow(run.id, options);
    return { reason: 'Its step is due now.' };
  },
  async reschedule({ access, run, options }, input) {
    const at = momentOf(input.at)!;
    await access.reschedule(run.id, at, options);
    return { reason: `Rescheduled to ${at.toISOString()}.` };
  },
  async skip({ access, run, options }) {
    await access.skip(run.id, options);
    return { reason: 'The step it waited at was skipped.' };
  },
  async signal({ access, run, options }, { name, payload, idempotency_key: key }) {
    const keyed = key == null ? options : { ...options, idempotencyKey: key };
    const declared = access.declaredSignal(run.workflow_class, name);
    const { signal } = await access.signal(run.id, declared, payload ?? {}, keyed);
    const { duplicateDelivery: duplicate } = signal;
    const reason = duplicate
      ? 'A signal with this idempotency key was sent before: nothing was stored.'
      : signal.status === 'pending'
        ? `Signal "${name}" was sent, and is kept: no step waits for it now.`
        : `Signal "${name}" was sent, and taken by the step that waited for it.`;
    return { reason, more: { signal_id: signal.id, duplicate_delivery: duplicate } };
  },
  async rerun({ access, run, options }) {
    const again = await access.rerun(run.id, options);
    return { reason: `Started again as ${again.id}.`, more: { new_run_id: again.id } };
  },
  async cancel({ access, run, options }) {
    await access.cancel(run.id, options);
    return { reason: 'Cancelled.' };
  },
};
