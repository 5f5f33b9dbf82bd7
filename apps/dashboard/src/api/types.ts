// What the API sends is typed once, where it is made.
export type * from '../../../../libs/workflow/src/insights/definition-views.js';
export type * from '../../../../libs/workflow/src/insights/views.js';
export type { RunStatus, StepOutcome, Verb } from '../../../../libs/workflow/src/model/states.js';
export type { StuckReason } from '../../../../libs/workflow/src/insights/stuck.js';

import type { RunSummary, RunView } from '../../../../libs/workflow/src/insights/views.js';

/** Runs as the API sends them: with a link to their subject, where the application has one. */
type Linked<Run> = Run & { readonly subject_url: string | null };
export type ListedRun = Linked<RunSummary>;
export type ShownRun = Linked<RunView>;

/** What a verb answers, done or not. */
export interface VerbAnswer {
  readonly ok: boolean;
  readonly reason: string;
  readonly run: ShownRun;
  readonly new_run_id?: string;
  readonly duplicate_delivery?: boolean;
}
