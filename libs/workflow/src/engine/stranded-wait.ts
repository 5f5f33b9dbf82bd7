import { StepNotDefinedError } from '../errors.js';
import { captureError } from '../model/error-record.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import { changeRun, type LockedRun, type Move } from '../transition/change-run.js';
import { contextOfEnd } from '../transition/context-of-end.js';
import { endAttempt, outcomeOf } from '../transition/outcomes.js';
import type { WorkflowDefinition } from '../definition/definition.js';
import type { EngineParts } from './engine.parts.js';

/**
 * Moves a run that waits where its class, as it is now, does not wait any more: over a gravestone it goes on; on a step that is not declared, or that waits
 * for no signal and opens no batch, a person must say what is meant.
 *
 * @returns what is to be reported; null: nothing
 */
export async function resolveStranded(
  parts: EngineParts,
  row: { readonly id: string; readonly workflowId: string },
): Promise<ErrorReport | null> {
  const { database, registry, settings } = parts;
  let report: ErrorReport | null = null;
  await database.engineTransaction(async (transaction) => {
    report = null;
    const decide = (locked: LockedRun): Move | null => {
      const definition = registry.get(locked.run.workflow_class)?.definition;
      if (
        !definition ||
        locked.run.status !== 'waiting' ||
        locked.row.id !== row.id ||
        locked.row.status !== 'waiting'
      ) {
        return null;
      }
      const step = definition.step(locked.row.step_name);
      if (step?.kind === 'removed') {
        return endAttempt(definition, locked, outcomeOf('skipped'), { defaultQueue: settings.queue });
      }
      // A batch under way is joined when it ends, whatever the step has become.
      if (step && (step.waitFor || locked.row.batch_size !== null)) return null;
      const error = notWaiting(definition, locked, step !== undefined);
      const outcome = outcomeOf('paused', {
        error: captureError(error, { backtraceLines: settings.errorBacktraceLines }),
      });
      report = { error, context: contextOfEnd(definition, locked, outcome.kind) };
      return endAttempt(definition, locked, outcome, { defaultQueue: settings.queue });
    };
    await changeRun(transaction, row.workflowId, decide, { ifFree: true });
  });
  return report;
}

function notWaiting({ name }: WorkflowDefinition, { run, row }: LockedRun, declared: boolean): StepNotDefinedError {
  return new StepNotDefinedError(
    declared
      ? `${name} has a step "${row.step_name}", which workflow ${run.id} waits on, but it waits for no signal any more. Resume the run to run the ` +
          'step, or resumeAt another one.'
      : `${name} no longer declares the step "${row.step_name}", which workflow ${run.id} waits on. Declare it again, put a gravestone in its ` +
          'place (@RemovedStep), or resume the run at another step (resumeAt).',
  );
}
