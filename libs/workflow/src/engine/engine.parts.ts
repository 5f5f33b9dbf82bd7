import type { ErrorReporter } from '../observe/error-reporter.js';
import type { Subjects } from '../registry/subjects.js';
import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { WorkerIdentity } from '../store/claim.js';
import type { Database } from '../store/database.js';
import type { WorkflowSettings } from '../workflow.options.js';

/** Injection token of what the engine works with. */
export const ENGINE_PARTS = Symbol('ENGINE_PARTS');

/** What the engine works with. */
export interface EngineParts {
  readonly database: Database;
  readonly registry: WorkflowRegistry;
  readonly subjects: Subjects;
  readonly settings: WorkflowSettings;
  readonly worker: WorkerIdentity;
  readonly errorReporter: ErrorReporter;
}
