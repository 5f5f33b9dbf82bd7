import type { StepContext, WorkflowHandle } from 'nestjs-pg-workflows';
import { held, Scripted, script } from './scripted';
import type { Suite, TestApp } from './suite';

/** For tests that catch a run of {@link Scripted} in the middle of its first step. */
export function performances(suite: Suite) {
  /** A run that starts and finishes now: every row due before it was seen by a worker first. */
  async function runAnother({ workflows }: TestApp): Promise<void> {
    await suite.until(await workflows.start(Scripted, script({})), 'finished');
  }

  /** A run that performs its first step. */
  async function performing({ workflows }: TestApp, ending?: (ctx: StepContext) => unknown) {
    const one = held(ending);
    const run = await workflows.start(Scripted, script({ one: one.body }));
    const context = await one.reached;
    return { run, context, release: one.release };
  }

  /** So many of its attempts have ended. */
  async function untilEnded(run: WorkflowHandle, rowsLeft: number): Promise<void> {
    await suite.eventually(
      async () =>
        (await suite.sql(`select from workflow_steps where workflow_id = $1 and finished_at is not null`, [run.id]))
          .length >= rowsLeft,
      `${rowsLeft} attempts have ended`,
    );
  }

  return { runAnother, performing, untilEnded };
}
