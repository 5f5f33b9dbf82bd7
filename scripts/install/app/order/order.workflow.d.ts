import { WorkflowOf } from 'nestjs-pg-workflows';

/** Stands for what `nest generate` writes into the application; it is not copied there. */
export declare class OrderWorkflow extends WorkflowOf<null, { title: string }> {}
