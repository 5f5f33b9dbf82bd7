import type { StepStatus } from '../model/states.js';
import type { DefinitionNow } from './words.js';

/** What a paused run stands on. */
export interface PausedAt {
  readonly step: string;
  /** Of the step's newest attempt. */
  readonly rowStatus: StepStatus;
  readonly waitFor: string | null;
  /** Null: the class is not loaded here. */
  readonly definition: DefinitionNow | null;
}

/**
 * What `resume` would do with a paused run: as `transition/verbs.ts` does it.
 *
 * @example
 * ```ts
 * resumeLabel({ step: 'charge', rowStatus: 'failed', waitFor: null, definition }); // 'Try step "charge" again'
 * ```
 */
export function resumeLabel({ step, rowStatus, waitFor, definition }: PausedAt): string {
  if (!definition) return 'Not from this process: the class is not loaded here';
  switch (rowStatus) {
    case 'failed':
      return definition.step(step)
        ? `Try step "${step}" again`
        : `Try step "${step}" again, though the class does not declare it: better resume at another step`;
    case 'scheduled':
      return `Go on with step "${step}"`;
    case 'in_progress':
      return `Let step "${step}" go on`;
    case 'waiting':
      return waitFor === null ? 'Go on waiting for the batch' : `Go on waiting for signal "${waitFor}"`;
    case 'completed':
    case 'skipped':
    case 'cancelled': {
      const next = definition.after(step);
      if (next === undefined) return `Not possible: the class does not declare step "${step}"; resume at another step`;
      return next ? `Go on with step "${next.name}"` : 'Finish the run';
    }
  }
}
