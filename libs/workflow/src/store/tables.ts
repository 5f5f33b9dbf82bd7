import type { DataSource } from 'typeorm';
import { WorkflowConfigurationError } from '../errors.js';
import { WorkflowEvent } from '../model/workflow-event.entity.js';
import { WorkflowRun } from '../model/workflow-run.entity.js';
import { WorkflowSignal } from '../model/workflow-signal.entity.js';
import { WorkflowStep } from '../model/workflow-step.entity.js';
import type { Tables } from './statement.js';

/** The entities of the four tables, for `TypeOrmModule.forFeature` and for a DataSource without `autoLoadEntities`. */
export const WorkflowEntities = [WorkflowRun, WorkflowStep, WorkflowEvent, WorkflowSignal] as const;

/** As errors name a DataSource: TypeORM 1 has no names any more, so its database stands in. */
export function nameOf(dataSource: DataSource): string {
  const { name, options } = dataSource as DataSource & { name?: string };
  return JSON.stringify(name ?? String(options.database ?? 'default'));
}

/** Where the DataSource has the four tables. */
export function tablesOf(dataSource: DataSource): Tables {
  const name = (entity: (typeof WorkflowEntities)[number]) => {
    if (!dataSource.hasMetadata(entity)) {
      throw new WorkflowConfigurationError(
        `The DataSource ${nameOf(dataSource)} does not know the entity ${entity.name}. Set "autoLoadEntities: true" in ` +
          'TypeOrmModule.forRoot(), or add "...WorkflowEntities" to its "entities".',
      );
    }
    const { tablePath, tableName, givenTableName } = dataSource.getMetadata(entity);
    // The migrations make them by their own names.
    if (tableName !== givenTableName) {
      throw new WorkflowConfigurationError(
        `The DataSource ${nameOf(dataSource)} calls the table ${givenTableName} "${tableName}", by its "entityPrefix" or "namingStrategy"; the workflow tables keep ` +
          'their names. Take the prefix away, have the strategy leave names that entities give as they are, or give the workflows a DataSource of their own ("connection").',
      );
    }
    return tablePath
      .split('.')
      .map((part) => `"${part.replaceAll('"', '""')}"`)
      .join('.');
  };
  return {
    runs: name(WorkflowRun),
    steps: name(WorkflowStep),
    events: name(WorkflowEvent),
    signals: name(WorkflowSignal),
  };
}
