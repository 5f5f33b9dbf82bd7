import type { StepDefinition } from '../definition/definition.js';
import type { RunStatus } from '../model/states.js';
import type { Moment, Window } from './views.js';

/** What the definitions' list and a class's page are told, as it is sent: see `views.ts` for how names, moments and durations are written. */

/** Parameters of the run list (`GET /api/runs`) that show exactly the runs which were counted. */
export interface RunLink {
  readonly class: string;
  readonly state: 'all' | 'ongoing' | RunStatus;
  readonly step?: string;
  /** From this moment on. */
  readonly created_from?: Moment;
  /** Before this moment. */
  readonly created_to?: Moment;
  readonly ended_from?: Moment;
  readonly ended_to?: Moment;
}

/** How many runs, and where they are listed. */
export interface RunCount {
  readonly count: number;
  readonly filter: RunLink;
}

/** How many runs need a person, and the parameters that narrow the attention page to them. */
export interface AttentionCount {
  readonly count: number;
  readonly attention: { readonly class: string };
}

/** The stretch of time that was looked at: from the first moment on, before the second. */
export interface WindowView {
  readonly window: Window;
  readonly from: Moment;
  readonly to: Moment;
  /** It is shorter than its name says: what is older than the retention is deleted. */
  readonly capped: boolean;
}

/** Percentiles of a duration, by nearest rank, and of how many they are. Null: of none. */
export interface Percentiles {
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
  readonly sample_size: number;
  /** `Only 7 samples.` Null: there are none, or enough of them. */
  readonly note: string | null;
}

/** A class in the list. */
export interface DefinitionSummary {
  readonly class: string;
  /** This process has the class. */
  readonly loaded: boolean;
  /** `The definition is not loaded in this process.` Null: it is. */
  readonly note: string | null;
  readonly ongoing: RunCount;
  readonly paused: RunCount;
  readonly need_attention: AttentionCount;
  /** Ongoing runs that stand on a removed step; null: the class is not loaded, so nobody knows. */
  readonly on_gravestones: number | null;
  readonly finished: RunCount;
  readonly cancelled: RunCount;
  /** From created to finished, of the runs that finished in the window. */
  readonly end_to_end: Percentiles;
}

export interface DefinitionListView {
  readonly window: WindowView;
  /** By name. */
  readonly definitions: readonly DefinitionSummary[];
}

/** What attempts that ended in the window came to. Rates are parts of 1; null: there were no attempts. */
export interface AttemptStats {
  readonly attempts: number;
  /** From started to ended; those that never started have none. */
  readonly run_time: Percentiles;
  /** An error was recorded. */
  readonly failure_rate: number | null;
  readonly reattempt_rate: number | null;
  readonly skip_rate: number | null;
}

export interface StepStats extends AttemptStats {
  /** From due to started. */
  readonly pickup: Percentiles;
}

/** A step of the class: what it is, who is at it now, and how it did. */
export interface PipelineStep {
  readonly step: string;
  /** Null: the class does not declare it (any more), or is not loaded. */
  readonly kind: StepDefinition['kind'] | null;
  /** `signal "payment_confirmed"`. Null: it waits for none. */
  readonly wait_for: string | null;
  /** `2d`, or `dynamic (per run)`. Null: it waits as long as it takes. */
  readonly wait_timeout: string | null;
  /** Runs at it now. A run that is paused counts there alone. */
  readonly now: Readonly<Record<'scheduled' | 'running' | 'waiting' | 'paused', RunCount>>;
  readonly stats: StepStats;
}

/** A stretch of the window: from its first moment on, before its second. */
export interface SeriesBucket {
  readonly from: Moment;
  readonly to: Moment;
  readonly started: RunCount;
  readonly finished: RunCount;
  readonly cancelled: RunCount;
}

/** Runs that took this long: from its first number of milliseconds on, less than its second; null: any longer. */
export interface DurationBucket {
  readonly from_ms: number;
  readonly to_ms: number | null;
  readonly count: number;
}

/** Where the runs that were started in the window have got to. */
export interface FunnelView {
  readonly started: RunCount;
  readonly steps: readonly {
    readonly step: string;
    /** They have had an attempt of it: each run once. */
    readonly reached: number;
    /** They stand on it now. */
    readonly now: RunCount;
  }[];
  readonly finished: RunCount;
  readonly cancelled: RunCount;
}

/** What attempts that a revision of the application ended in the window came to. */
export interface RevisionView extends AttemptStats {
  readonly revision: string;
  /** Its first end of an attempt in the window, which orders revisions. */
  readonly first_ended_at: Moment;
  /** Its failure rate is more than five points above that of the revision before it. */
  readonly worse: boolean;
}

/** A class's page. */
export interface DefinitionView extends DefinitionSummary {
  readonly window: WindowView;
  readonly started: RunCount;
  /** Declared steps in their order, gravestones too, then those that are met in the tables alone. */
  readonly pipeline: readonly PipelineStep[];
  /** Oldest first, empty ones too. */
  readonly series: readonly SeriesBucket[];
  /** Of the runs that {@link DefinitionSummary.end_to_end} is of. */
  readonly durations: readonly DurationBucket[];
  readonly funnel: FunnelView;
  /** The five newest, newest first. */
  readonly revisions: readonly RevisionView[];
}
