// @ts-check
// What waits: for a signal, and for a crowd of jobs.

import { fanOut, step, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

/**
 * Parks on a signal; the step after the wait tells who waits for it.
 *
 * @extends {WorkflowOf<null, {}>}
 */
export class Parked extends WorkflowOf {
  /** @type {(workflowId: string) => void} */
  static woken = () => {};
}
Workflow({
  name: 'Parked',
  steps: [step('wait', async () => {}, { waitFor: 'go' }), step('next', async (ctx) => Parked.woken(ctx.workflowId))],
})(Parked);

/** A job that does nothing. */
export class Nothing {
  async perform() {}
}
WorkflowJob({ name: 'Nothing' })(Nothing);

/**
 * Fans out to as many jobs as it is told.
 *
 * @extends {WorkflowOf<null, { members: number }>}
 */
export class Crowd extends WorkflowOf {}
Workflow({
  name: 'Crowd',
  steps: [
    fanOut('crowd', async (ctx, batch) => {
      for (let index = 0; index < ctx.args.members; index += 1) batch.add(Nothing, { index });
    }),
  ],
})(Crowd);
