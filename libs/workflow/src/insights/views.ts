import type { EventName, RunStatus, SignalStatus, StepOutcome, StepStatus, Verb } from '../model/states.js';
import type { StuckReason } from './stuck.js';

/**
 * What REST, the dashboard and MCP are told, as it is sent: names in snake_case, moments as ISO 8601 text in UTC, durations as numbers of
 * milliseconds (`…_ms`).
 */

/** A moment: ISO 8601 text in UTC, with milliseconds. */
export type Moment = string;

export interface SubjectView {
  readonly type: string;
  readonly id: string;
}

/** What a run does and what happens next, in words a person reads. */
export interface RunWords {
  /** `Waiting for signal "payment_confirmed" since 2 days, until 14:02 UTC`. */
  readonly now: string;
  /** `Then step "ship".` Null: nothing follows by itself. */
  readonly next: string | null;
}

/** A run as a list shows it. */
export interface RunSummary extends RunWords {
  readonly id: string;
  readonly class: string;
  readonly subject: SubjectView | null;
  readonly status: RunStatus;
  readonly step: string;
  /** Of the step's newest attempt. */
  readonly attempt: number | null;
  /** Of that attempt's error. */
  readonly error_class: string | null;
  readonly stuck_reason: StuckReason | null;
  readonly created_at: Moment;
  readonly updated_at: Moment;
  readonly ended_at: Moment | null;
  readonly available_actions: readonly Verb[];
}

/** A page of a list; `next_cursor` null: it is the last. */
export interface RunList {
  readonly runs: readonly RunSummary[];
  readonly next_cursor: string | null;
}

/** An attempt, as the run's page shows it. */
export interface AttemptView {
  readonly id: string;
  readonly step: string;
  readonly attempt: number;
  readonly status: StepStatus;
  readonly outcome: StepOutcome | null;
  readonly queue: string;
  readonly priority: number;
  /** When the attempt came to be: its parts begin here. */
  readonly created_at: Moment;
  readonly scheduled_at: Moment;
  readonly waiting_since: Moment | null;
  readonly started_at: Moment | null;
  readonly finished_at: Moment | null;
  /** Waited (for its time or its signal), queued (due, not taken), ran: null for what it did not come to; as of now while it goes on. */
  readonly waited_ms: number | null;
  readonly queued_ms: number | null;
  readonly ran_ms: number | null;
  /** The same three as text: `waited 2h 5m, queued 8ms, ran 1.2s`. */
  readonly durations: string;
  readonly worker: string | null;
  readonly app_revision: string | null;
  readonly wait_for: string | null;
  readonly timeout_at: Moment | null;
  readonly output: unknown;
  readonly error: {
    readonly class: string;
    readonly message: string;
    readonly backtrace: string | null;
    readonly causes: readonly { readonly class: string; readonly message: string }[];
  } | null;
  /** A fan-out's members. */
  readonly batch: BatchView | null;
}

export interface BatchView {
  /** `<Class>#<step> <workflowId>`. */
  readonly description: string;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly unfinished: number;
}

export interface SignalView {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly idempotency_key: string | null;
  readonly status: SignalStatus;
  readonly claimed_by_step_id: string | null;
  readonly created_at: Moment;
}

/** A line of the audit trail. */
export interface EventView {
  readonly id: string;
  readonly name: EventName;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly details: Record<string, unknown> | null;
  readonly created_at: Moment;
  /** `Resumed by dashboard:alice: SMTP is up again`. */
  readonly text: string;
}

export interface EventList {
  readonly events: readonly EventView[];
  readonly next_cursor: string | null;
}

/** A stretch for which a run was paused. */
export interface PauseView {
  readonly from: Moment;
  /** Null: it still is. */
  readonly to: Moment | null;
}

/** A run's page. */
export interface RunView extends RunSummary {
  /** The database's clock when this was read: what is told "as of now" is as of this moment. */
  readonly read_at: Moment;
  readonly args: unknown;
  readonly idempotency_key: string | null;
  /** The class is known to this process: without it the verbs that ask what comes next are refused. */
  readonly definition_loaded: boolean;
  /** It began on another list of steps than the class has now. */
  readonly definition_outdated: boolean;
  readonly rerun_of: string | null;
  /** The run that repeats this one, the newest when there are several. */
  readonly rerun_as: string | null;
  /** The steps that `resume_at` takes. */
  readonly steps: readonly string[];
  /** What `resume` would do; null: it is not paused. */
  readonly resume_label: string | null;
  /** The newest hundred, newest first. */
  readonly attempts: readonly AttemptView[];
  readonly attempts_total: number;
  /** The newest hundred, oldest first. */
  readonly pauses: readonly PauseView[];
  /** The newest hundred, newest first. */
  readonly signals: readonly SignalView[];
}

/** Stuck runs of one class, step, reason and error class. */
export interface AttentionGroup {
  readonly class: string;
  readonly step: string;
  readonly reason: StuckReason;
  readonly error_class: string | null;
  readonly runs: number;
  readonly first_seen_at: Moment;
  readonly last_seen_at: Moment;
  /** The latest one's. */
  readonly error_message: string | null;
  /** Which of `resume` and `cancel` it makes sense to press. */
  readonly actions: readonly ('resume' | 'cancel')[];
}

export interface AttentionView {
  /** The largest 200, largest first. */
  readonly groups: readonly AttentionGroup[];
  readonly groups_total: number;
  readonly runs_total: number;
}

/** What a press on a group did. */
export interface GroupResult {
  /** At least one was acted on. */
  readonly ok: boolean;
  readonly done: number;
  /** They had moved on, or somebody else was faster. */
  readonly moved_on: number;
  /** The verb does not go with them: a resume of runs that are not paused, or whose class does not declare their step. */
  readonly refused: number;
  /** Still in the group and not tried, or held by somebody just now: press again. */
  readonly left: number;
  /** `Resumed 212; 2 had already moved on.` */
  readonly reason: string;
}

export interface QueueView {
  readonly queue: string;
  /** Steps and members that are due and not taken. */
  readonly depth: number;
  /** Seconds; 0: none is due. */
  readonly oldest_due_seconds: number;
}

export interface WorkerView {
  /** The first eight characters of the worker's id, which is new for each start of a process. */
  readonly id: string;
  /** `hostname:pid`. */
  readonly name: string;
  /** Since when it keeps its lease connection; null: the server does not tell, or does not show it. */
  readonly started_at: Moment | null;
  /** How many steps and members it has in progress. */
  readonly in_progress: number;
  /** The oldest twenty of them. */
  readonly runs: readonly {
    readonly workflow_id: string;
    readonly class: string;
    readonly step: string;
    readonly attempt: number;
    readonly started_at: Moment;
  }[];
}

export interface SummaryView {
  readonly ongoing: number;
  readonly by_status: Readonly<Record<'ready' | 'performing' | 'waiting' | 'paused', number>>;
  readonly stuck: number;
  readonly by_reason: Readonly<Record<StuckReason, number>>;
  readonly queues: readonly QueueView[];
  readonly oldest_due_step_seconds: number;
  readonly workers: readonly WorkerView[];
}

export const WINDOWS = ['1h', '24h', '7d', '30d'] as const;
export type Window = (typeof WINDOWS)[number];
