import type { Move } from '../transition/change-run.js';
import { endAttempt, type Outcome } from '../transition/outcomes.js';
import { tellChange } from '../transition/tell.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';

/** What an attempt's end does to its run, when nothing else happened to that meanwhile. */
export function expectedEnd({ settings }: EngineParts, { workflow, step, row }: Attempt, outcome: Outcome): Move {
  const { id, workflowId, queue, priority } = row;
  const ending = {
    run: { id: workflowId, status: 'performing' as const },
    row: { id, step_name: step.name, status: 'in_progress' as const, queue, priority },
  };
  return endAttempt(workflow.definition, ending, outcome, { defaultQueue: settings.queue });
}

/** Tells of an end that is stored, and of which only that is known. */
export function tellEnd({ workflow, step, row, begunAt }: Attempt, move: Move): void {
  const run = { id: row.workflowId, workflow_class: workflow.definition.name, current_step: step.name };
  const ended = { step_name: step.name, attempt: row.attempt, ran_ms: performance.now() - begunAt };
  tellChange(run, move, ended);
}
