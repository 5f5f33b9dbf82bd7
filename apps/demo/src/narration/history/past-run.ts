import { randomUUID } from 'node:crypto';
import type { EventName, RunStatus, StepOutcome, StepStatus } from 'nestjs-pg-workflows';
import {
  NOTHING_YET,
  type Beginning,
  type Failure,
  type PastEvent,
  type PastSignal,
  type PastStep,
} from './past-rows.js';

/** A run that is told from its beginning on; what is told leaves the rows that the engine would have left. */
export class PastRun {
  readonly id = randomUUID();
  readonly steps: PastStep[] = [];
  readonly events: PastEvent[] = [];
  readonly signals: PastSignal[] = [];
  status: RunStatus = 'ready';
  currentStep = '';
  paused: number | null = null;
  ended: number | null = null;
  /** Up to when it is told. */
  now: number;

  constructor(readonly beginning: Beginning) {
    this.now = beginning.at;
    this.tell('started', null, { actor: beginning.actor });
  }

  /** The step is due `wait` later. */
  schedule(name: string, { wait = 0, actor = 'system' } = {}): this {
    const { workflow: handler, revision } = this.beginning;
    const attempt = this.steps.filter((one) => one.name === name && one.parent === null).length + 1;
    const due = this.now + wait;
    const step = { ...NOTHING_YET, handler, name, attempt, created: this.now, scheduled: due, available: due, revision }; // prettier-ignore
    this.steps.push(step);
    this.currentStep = name;
    if (this.status !== 'paused') this.status = 'ready';
    return this.tell('step_scheduled', step, { actor: this.events.length === 1 ? this.beginning.actor : actor });
  }

  /** It waits for a signal; `deadline` from now on. */
  park(signal: string, deadline: number | null): this {
    const step = this.open;
    Object.assign(step, { status: 'waiting', waitFor: signal, waitingSince: this.now, available: null });
    step.timeout = deadline === null ? null : this.now + deadline;
    this.status = 'waiting';
    return this.tell('step_waiting', step, { details: { wait_for: signal } });
  }

  /** The signal that it waits for comes. */
  receive(after: number, payload: object, key: string, actor: string): this {
    this.now += after;
    const step = this.open;
    const name = step.waitFor!;
    this.signals.push({
      name,
      payload,
      key,
      at: this.now,
      status: 'claimed',
      claimedBy: step,
      claimed: this.now,
      consumed: null,
    });
    this.tell('signal_received', null, { actor, details: { name, idempotency_key: key, duplicate: false } });
    Object.assign(step, { status: 'scheduled', scheduled: this.now, available: this.now, timeout: null });
    this.status = 'ready';
    return this.tell('signal_claimed', step, { details: { name } });
  }

  /** The deadline passes, and is announced; it waits on, without one. */
  notify(): this {
    const step = this.open;
    this.now = step.timeout!;
    const details = { wait_for: step.waitFor, action: 'notify', timeout_at: new Date(this.now).toISOString() };
    step.timeout = null;
    return this.tell('wait_timed_out', step, { details });
  }

  begin(queued: number): this {
    const step = this.open;
    this.now = Math.max(this.now, step.scheduled) + queued;
    Object.assign(step, { status: 'in_progress', started: this.now, worker: this.beginning.worker });
    this.status = 'performing';
    return this.tell('step_started', step);
  }

  complete(ran: number, output: object | null = null): this {
    this.now += ran;
    const step = this.end('completed', 'completed');
    step.output = output;
    for (const signal of this.signals.filter(({ claimedBy, status }) => claimedBy === step && status === 'claimed')) {
      Object.assign(signal, { status: 'consumed', consumed: this.now });
    }
    return this.tell('step_completed', step);
  }

  skip(): this {
    return this.tell('step_skipped', this.end('skipped', 'skipped'));
  }

  /** It is tried again `wait` later. */
  reattempt(ran: number, error: Failure, wait: number): this {
    this.now += ran;
    const step = this.end('failed', 'reattempted');
    step.error = error;
    return this.tell('step_reattempted', step).schedule(step.name, { wait });
  }

  /** It fails, and a person has to look at it. */
  failAndPause(ran: number, error: Failure): this {
    this.now += ran;
    const step = this.end('failed', 'paused');
    step.error = error;
    return this.tell('step_failed', step).pause(step, 'system', null);
  }

  failAndCancel(ran: number, error: Failure): this {
    this.now += ran;
    const step = this.end('failed', 'cancelled');
    step.error = error;
    return this.tell('step_failed', step).endAs('cancelled', 'system', null);
  }

  /** Somebody holds it before its step is due. */
  pauseBy(after: number, actor: string, reason: string): this {
    this.now += after;
    this.open.available = null;
    return this.pause(null, actor, reason);
  }

  /** After a failure: the step is tried again. */
  resumeBy(after: number, actor: string, reason: string): this {
    this.now += after;
    this.paused = null;
    this.status = 'ready';
    return this.tell('resumed', null, { actor, reason }).schedule(this.currentStep, { actor });
  }

  /** The step's jobs, each with the moment it ended at, after now; null: it has not. */
  fanOut(jobs: readonly (Pick<PastStep, 'job' | 'error'> & { due: number; ended: number | null })[]): this {
    const parent = this.open;
    Object.assign(parent, { status: 'waiting', waitingSince: this.now, available: null, batchSize: jobs.length });
    const { revision, worker } = this.beginning;
    for (const [member, { job, error, due, ended }] of jobs.entries()) {
      const { name, attempt } = parent;
      const status = ended === null ? 'scheduled' : error === null ? 'completed' : 'failed';
      this.steps.push({
        ...NOTHING_YET,
        handler: job!.name,
        name,
        attempt,
        created: this.now,
        parent,
        member,
        job,
        status,
        error,
        revision,
        scheduled: due,
        available: due,
        finished: ended,
        started: ended === null ? null : ended - 40,
        worker: ended === null ? null : worker,
      });
    }
    this.status = 'waiting';
    return this.tell('fan_out_opened', parent, { details: { size: jobs.length } }).tell('step_waiting', parent, {
      details: {},
    });
  }

  /** All its jobs have ended. */
  join(): this {
    const members = this.steps.filter(({ parent }) => parent === this.open);
    this.now = Math.max(...members.map(({ finished }) => finished!)) + 20;
    const failed = members.filter(({ status }) => status === 'failed').length;
    return this.tell('fan_out_finished', this.open, { details: { failed_jobs: failed, total_jobs: members.length } });
  }

  finish(): this {
    return this.endAs('finished', 'system', null);
  }

  cancelBy(after: number, actor: string, reason: string): this {
    this.now += after;
    if (this.isOpen) this.end('cancelled', 'cancelled');
    return this.endAs('cancelled', actor, reason);
  }

  get open(): PastStep {
    return this.steps.findLast(({ parent }) => parent === null)!;
  }

  private get isOpen(): boolean {
    return this.open.finished === null;
  }

  private end(status: StepStatus, outcome: StepOutcome): PastStep {
    return Object.assign(this.open, { status, outcome, finished: this.now, timeout: null });
  }

  private pause(step: PastStep | null, actor: string, reason: string | null): this {
    Object.assign(this, { status: 'paused', paused: this.now });
    return this.tell('paused', step, { actor, reason });
  }

  private endAs(status: 'finished' | 'cancelled', actor: string, reason: string | null): this {
    Object.assign(this, { status, paused: null, ended: this.now });
    return this.tell(status, null, { actor, reason });
  }

  private tell(
    name: EventName,
    step: PastStep | null,
    { actor = 'system', reason = null, details = null }: Partial<Pick<PastEvent, 'actor' | 'reason' | 'details'>> = {},
  ): this {
    this.events.push({ name, step, actor, reason, details, at: this.now });
    return this;
  }
}
