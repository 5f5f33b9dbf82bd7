// @ts-check
import { step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { FLOWS } from '../insights/workflows.mjs';

const nothing = async () => {};

/** Its only step is tried again and again. */
class Poller extends WorkflowOf {}
Workflow({ name: 'Poller', steps: [step('poll', nothing)] })(Poller);

/** Its only step fans out. */
class Mailing extends WorkflowOf {}
Workflow({ name: 'Mailing', steps: [step('send', nothing)] })(Mailing);

/** What the application has beside the crowd's classes. */
export const PROVIDERS = [...FLOWS, Poller, Mailing];
