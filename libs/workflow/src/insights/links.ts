import type { RunCount, RunLink } from './definition-views.js';
import type { Moment } from './views.js';

/** Counts of a class's runs, each with the filter of the run list that shows just these. */
export class Links {
  constructor(
    private readonly workflowClass: string,
    private readonly span: { readonly from: Moment; readonly to: Moment },
  ) {}

  runs(count: number, filter: Omit<RunLink, 'class'>): RunCount {
    return { count, filter: { class: this.workflowClass, ...filter } };
  }

  /** Runs that ended in the window, or in a part of it. */
  ended(count: number, state: 'finished' | 'cancelled', { from, to } = this.span): RunCount {
    return this.runs(count, { state, ended_from: from, ended_to: to });
  }

  /** Runs that were started in the window, or in a part of it. */
  started(count: number, filter: Omit<RunLink, 'class'> = { state: 'all' }, { from, to } = this.span): RunCount {
    return this.runs(count, { ...filter, created_from: from, created_to: to });
  }

  attention(count: number) {
    return { count, attention: { class: this.workflowClass } };
  }
}
