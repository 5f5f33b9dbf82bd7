import type { EventName, SignalStatus, StepOutcome, StepStatus } from 'nestjs-pg-workflows';

export interface Failure {
  readonly class: string;
  readonly message: string;
  readonly backtrace?: string;
  readonly causes?: readonly { readonly class: string; readonly message: string }[];
}

/** An attempt or a member of a fan-out, as it comes to stand in `workflow_steps`. Moments are milliseconds since 1970. */
export interface PastStep {
  readonly handler: string;
  readonly name: string;
  readonly attempt: number;
  readonly created: number;
  /** The fan-out that it is a member of, and its place there. */
  parent: PastStep | null;
  member: number;
  job: { readonly name: string; readonly args: object; readonly tries: number } | null;
  status: StepStatus;
  outcome: StepOutcome | null;
  scheduled: number;
  available: number | null;
  started: number | null;
  finished: number | null;
  waitFor: string | null;
  waitingSince: number | null;
  timeout: number | null;
  batchSize: number | null;
  output: object | null;
  error: Failure | null;
  worker: string | null;
  revision: string | null;
}

export interface PastEvent {
  readonly name: EventName;
  readonly step: PastStep | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly details: object | null;
  readonly at: number;
}

export interface PastSignal {
  readonly name: string;
  readonly payload: object;
  readonly key: string;
  readonly at: number;
  status: SignalStatus;
  claimedBy: PastStep | null;
  claimed: number | null;
  consumed: number | null;
}

export interface Beginning {
  readonly workflow: string;
  readonly subject: { readonly type: string; readonly id: string };
  /** As JSON, as the column has it. */
  readonly args: string;
  readonly digest: string;
  readonly revision: string;
  readonly worker: string;
  readonly actor: string;
  readonly at: number;
}

/** What most columns hold of a step that was only scheduled. */
export const NOTHING_YET: Omit<PastStep, 'handler' | 'name' | 'attempt' | 'created' | 'scheduled'> = {
  parent: null,
  member: -1,
  job: null,
  status: 'scheduled',
  outcome: null,
  available: null,
  started: null,
  finished: null,
  waitFor: null,
  waitingSince: null,
  timeout: null,
  batchSize: null,
  output: null,
  error: null,
  worker: null,
  revision: null,
};
