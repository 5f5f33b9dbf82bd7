import { STEP_NAMES, type Release, type StepName } from './model-workflows';

/* What the model remembers of runs, and what is true of one row, one run or one member by itself. */

export type RunStatus = 'ready' | 'performing' | 'waiting' | 'paused' | 'finished' | 'cancelled';
export type Verb = 'pause' | 'resume' | 'resume_at' | 'cancel' | 'run_now' | 'reschedule' | 'rerun' | 'skip' | 'signal';
export type Outcome = 'completed' | 'skipped' | 'reattempted' | 'paused' | 'cancelled' | 'finished';

export interface Member {
  readonly label: string;
  status: 'scheduled' | 'in_progress' | 'completed' | 'failed';
  tries: number;
  /** Leaps of time since it was claimed, or ended. */
  age: number;
}

export interface Row {
  readonly step: StepName;
  readonly attempt: number;
  status: 'scheduled' | 'in_progress' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'skipped';
  outcome: Outcome | null;
  error: string | null;
  /** Of a scheduled one: its time has come. */
  due: boolean;
  /** Of a wait for a signal. */
  deadline: 'none' | 'ahead' | 'passed';
  timedOut: boolean;
  /** Leaps of time since it was claimed, or ended. */
  age: number;
  /** Of a fan-out that opened. */
  batch: { readonly size: number; members: Member[] } | null;
}

export interface Signal {
  readonly name: string;
  readonly payload: string;
  readonly key: string | null;
  status: 'pending' | 'claimed' | 'consumed';
  by: Row | null;
}

export interface Run {
  readonly key: string | null;
  status: RunStatus;
  readonly rows: Row[];
  readonly signals: Signal[];
  readonly events: string[];
}

/** A body at work, whoever still wants its outcome. */
export interface Held {
  readonly run: Run;
  readonly row: Row;
  /** Of the process that it is in. */
  readonly release: Release;
}

/** What has lost its worker, as somebody saw it. */
export interface Lapsed {
  readonly rows: readonly Row[];
  readonly tries: readonly { readonly member: Member; readonly tries: number }[];
}

/** OPS-15. */
export const AVAILABLE: Readonly<Record<RunStatus, readonly Verb[]>> = {
  ready: ['pause', 'cancel', 'run_now', 'reschedule', 'signal'],
  performing: ['pause', 'cancel', 'signal'],
  waiting: ['pause', 'cancel', 'skip', 'signal'],
  paused: ['resume', 'resume_at', 'cancel', 'signal'],
  finished: ['rerun'],
  cancelled: ['rerun'],
};

export const OUTCOME = {
  pause: 'paused',
  cancel: 'cancelled',
  skip: 'skipped',
  finish: 'finished',
  reattempt: 'reattempted',
} as const;

export function rowOf(run: Run): Row {
  return run.rows.at(-1)!;
}

export function label({ step, attempt }: Row): string {
  return `${step}#${attempt}`;
}

export function isOpen({ status }: { readonly status: string }): boolean {
  return ['scheduled', 'in_progress', 'waiting'].includes(status);
}

export function isEnded({ status }: Run): boolean {
  return status === 'finished' || status === 'cancelled';
}

/** REN-08; null: it is the last. Undefined: nobody knows. */
export function after(step: StepName, release: Release): StepName | null | undefined {
  if (release[step] === 'undeclared') return undefined;
  return STEP_NAMES.slice(STEP_NAMES.indexOf(step) + 1).find((name) => !(name in release)) ?? null;
}

export function close(row: Row, status: Row['status'], outcome: Outcome | null): void {
  row.status = status;
  row.outcome = outcome;
  row.age = 0;
}

export function endRun(run: Run, status: 'finished' | 'cancelled'): void {
  run.status = status;
  run.events.push(status);
  consume(run, null);
}

/** SIG-09; null: whatever the run's steps hold. */
export function consume(run: Run, step: StepName | null): void {
  for (const signal of run.signals) {
    if (signal.status === 'claimed' && (step === null || signal.by!.step === step)) signal.status = 'consumed';
  }
}

export function endTry(member: Member, status: Member['status']): void {
  member.status = status;
  member.age = 0;
}

/** FAN-23: two tries, without a pause between them. */
export function failTry(member: Member): void {
  endTry(member, member.tries < 2 ? 'scheduled' : 'failed');
}

export function stateOf(row: Row, paused: boolean): string {
  const { status, outcome, error, due, deadline, timedOut, batch } = row;
  const parts: (string | null)[] = [status, outcome, error];
  if (status === 'scheduled') parts.push(paused ? 'held' : due ? 'due' : 'later', timedOut ? 'timed out' : null);
  if (status === 'waiting' && !batch) parts.push(deadline === 'none' ? 'no deadline' : paused ? 'stopped' : deadline);
  return parts.filter(Boolean).join(' ');
}
