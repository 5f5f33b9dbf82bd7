import type { Subjects } from '../registry/subjects.js';
import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { Database } from '../store/database.js';
import type { WorkflowSettings } from '../workflow.options.js';

/** What the service works with. */
export interface ServiceParts {
  readonly database: Database;
  /** Looked for when first read: Nest has to have made every provider. */
  readonly registry: WorkflowRegistry;
  readonly subjects: Subjects;
  readonly settings: WorkflowSettings;
}

/** Injection token, for the rooms over `service/`: REST and MCP. */
export const SERVICE_PARTS = Symbol('WORKFLOW_SERVICE_PARTS');
