import type { StepOutcome } from '../model/states.js';
import { isHeard, publish } from '../observe/channels.js';
import type { RunRow } from '../store/run.js';
import type { Change, Changed } from '../store/move.js';

/** An attempt that ended in a change. */
interface ToldAttempt {
  readonly stepName: string;
  readonly attempt: number;
  /** Milliseconds; null: its body never began. */
  readonly durationMs: number | null;
}

/** Who is told of it, and what of it they are told. */
type ToldChange = Pick<Change, 'run' | 'close'>;

/** Tells of a committed change: of the attempt that ended, then of what became of the run. */
export function tellChange(
  run: Pick<RunRow, 'id' | 'workflow_class' | 'current_step'>,
  { run: { from, to }, close }: ToldChange,
  ended: Changed['closed'],
): void {
  if (close && ended) {
    const { step_name: stepName, attempt, ran_ms: durationMs } = ended;
    tellStep(run, { stepName, attempt, durationMs }, close.outcome ?? 'cancelled', close.error?.class ?? null);
  }
  if (from === to) return;
  const about = { workflowClass: run.workflow_class, workflowId: run.id };
  if (to === 'finished' || to === 'cancelled') publish(`workflow.${to}`, about);
  if (to === 'paused') {
    publish('workflow.paused', { ...about, stepName: run.current_step, errorClass: close?.error?.class ?? null });
  }
}

/** Tells that an attempt ended. */
function tellStep(
  run: Pick<RunRow, 'id' | 'workflow_class'>,
  { stepName, attempt, durationMs }: ToldAttempt,
  outcome: StepOutcome,
  errorClass: string | null,
): void {
  if (!isHeard('workflow.step')) return;
  publish('workflow.step', {
    workflowClass: run.workflow_class,
    workflowId: run.id,
    stepName,
    attempt,
    outcome,
    errorClass,
    durationMs,
    endedAt: new Date(),
  });
}
