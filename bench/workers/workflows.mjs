// @ts-check
// What the processes run: steps that do nothing, and those that tell the bench when their body runs.

import { step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';

/** @param {{ workflowId: string }} ctx */
const tell = async ({ workflowId }) => {
  if (process.connected) process.send?.({ ran: workflowId });
};

/** The crowd of the burst: one step that does nothing. @extends {WorkflowOf<null, { order: number }>} */
export class Burst extends WorkflowOf {}
Workflow({ name: 'Burst', steps: [step('only', async () => {})] })(Burst);

/** On the crowd's queue, behind it. @extends {WorkflowOf<null, {}>} */
export class Probe extends WorkflowOf {}
Workflow({ name: 'Probe', steps: [step('only', tell)] })(Probe);

/** On the crowd's queue, and more urgent. @extends {WorkflowOf<null, {}>} */
export class Urgent extends WorkflowOf {}
Workflow({ name: 'Urgent', jobOptions: { priority: -1 }, steps: [step('only', tell)] })(Urgent);

/** On a queue of its own. @extends {WorkflowOf<null, {}>} */
export class Elsewhere extends WorkflowOf {}
Workflow({ name: 'Elsewhere', jobOptions: { queue: 'elsewhere' }, steps: [step('only', tell)] })(Elsewhere);

/** On a queue that no worker of the bench serves. @extends {WorkflowOf<null, {}>} */
export class Unserved extends WorkflowOf {}
Workflow({ name: 'Unserved', jobOptions: { queue: 'unserved' }, steps: [step('only', async () => {})] })(Unserved);

/** What the workers serve. */
export const SERVED = ['default', 'elsewhere'];
