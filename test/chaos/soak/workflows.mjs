// @ts-check
// What the soak runs, for ever: plain chains, waits for a signal, fan-outs, transactional steps. Nothing fails.

import { fanOut, step, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

let bodies = 0;
/** Steps and jobs that this process began. */
export const bodiesRun = () => bodies;

const nothing = async () => {
  bodies += 1;
};

/** @extends {WorkflowOf<null, { number: number }>} */
export class SoakChain extends WorkflowOf {}
Workflow({
  name: 'SoakChain',
  steps: [
    step('one', nothing),
    step('two', async (ctx) => {
      bodies += 1;
      ctx.output({ number: ctx.args.number, text: 'some output to keep' });
    }),
    step('three', nothing, { wait: 100 }),
    step('four', nothing, { skipIf: ({ args }) => args.number % 2 === 0 }),
    step('five', nothing, { transactional: true }),
  ],
})(SoakChain);

/** @extends {WorkflowOf<null, { number: number }>} */
export class SoakWaits extends WorkflowOf {}
Workflow({
  name: 'SoakWaits',
  steps: [
    step('before', nothing),
    step('gate', nothing, { waitFor: 'go', waitTimeout: '20s', onTimeout: 'skip' }),
    step('after', nothing),
  ],
})(SoakWaits);

export class SoakTask {
  async perform() {
    bodies += 1;
  }
}
WorkflowJob({ name: 'SoakTask' })(SoakTask);

/** @extends {WorkflowOf<null, { number: number }>} */
export class SoakCrowd extends WorkflowOf {}
Workflow({
  name: 'SoakCrowd',
  steps: [
    step('before', nothing),
    fanOut('crowd', async (ctx, batch) => {
      bodies += 1;
      for (let index = 0; index < 5; index += 1) batch.add(SoakTask, { number: ctx.args.number, index });
    }),
    step('after', nothing),
  ],
})(SoakCrowd);

export const providers = [SoakChain, SoakWaits, SoakCrowd, SoakTask];
