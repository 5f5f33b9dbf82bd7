import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { Database } from '../store/database.js';
import type { WorkflowSettings } from '../workflow.options.js';

/** What reads work with. */
export interface InsightsParts {
  readonly database: Database;
  /** Looked for when first read: Nest has to have made every provider. */
  readonly registry: WorkflowRegistry;
  readonly settings: Pick<WorkflowSettings, 'stallThreshold' | 'waitingVisibilityThreshold'>;
}
