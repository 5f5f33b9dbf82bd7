import type { DataSource, EntityManager } from 'typeorm';
import { shown } from '../definition/definition-error.js';
import { WorkflowConfigurationError } from '../errors.js';
import { nameOf } from './tables.js';

/**
 * The manager that an application gave, or that is the ambient one: one of this DataSource.
 *
 * @throws WorkflowConfigurationError for what is no manager, or another DataSource's
 */
export function callersManager(given: EntityManager, dataSource: DataSource): EntityManager {
  // A QueryRunner or a repository has no transaction to join under the name we look for: it would be passed over in silence.
  if (!isEntityManager(given)) {
    throw new WorkflowConfigurationError(
      `"manager" must be an EntityManager: the one that dataSource.transaction(manager => …) gives, or queryRunner.manager; ` +
        `given: ${shown(given)}.`,
    );
  }
  if (given.connection !== dataSource) {
    throw new WorkflowConfigurationError(
      `The manager given belongs to another DataSource (${nameOf(given.connection)}) than the workflow tables ` +
        `(${nameOf(dataSource)}). Pass a manager of that one, or none: the call then commits on its own.`,
    );
  }
  return given;
}

/** As TypeORM itself tells: true for the manager of another copy of it too, and behind a proxy. */
function isEntityManager(value: object): boolean {
  return (value as { '@instanceof'?: unknown })['@instanceof'] === Symbol.for('EntityManager');
}
