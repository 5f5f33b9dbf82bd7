import type { DynamicModule, InjectionToken, Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { getDataSourceToken, getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { ENGINE_PARTS, type EngineParts } from './engine/engine.parts.js';
import { WorkflowConfigurationError } from './errors.js';
import { WorkflowEvent } from './model/workflow-event.entity.js';
import { WorkflowRun } from './model/workflow-run.entity.js';
import { WorkflowSignal } from './model/workflow-signal.entity.js';
import { WorkflowStep } from './model/workflow-step.entity.js';
import { LoggingErrorReporter } from './observe/error-reporter.js';
import { workflowLogger } from './observe/log.js';
import { Subjects } from './registry/subjects.js';
import { WorkflowExplorer } from './registry/workflow.explorer.js';
import type { Repositories } from './service/run-access.js';
import { SERVICE_PARTS } from './service/service.parts.js';
import { WorkflowService } from './service/workflow.service.js';
import { Database } from './store/database.js';
import { Pool } from './store/pool.js';
import { tablesOf, WorkflowEntities } from './store/tables.js';
import { Wakeup } from './store/wakeup.js';
import { workerIdentity } from './worker/identity.js';
import { WORKFLOW_SETTINGS, type WorkflowSettings } from './workflow.options.js';
import { DISPATCHER_MODES, WAKEUP } from './workflow.runtime.js';

/** What a process has of the engine, with or without a worker, on the DataSource of this name. */
export function engineProviders(connection: string | undefined): Provider[] {
  const dataSource = getDataSourceToken(connection);
  const repository = (entity: (typeof WorkflowEntities)[number]) => getRepositoryToken(entity, connection);
  return [
    { provide: WAKEUP, useClass: Wakeup },
    { provide: DISPATCHER_MODES, useValue: { settleInSets: true, continueInPlace: true, claimInSets: true } },
    {
      provide: WorkflowExplorer,
      inject: [DiscoveryService],
      useFactory: (discovery: DiscoveryService) => new WorkflowExplorer(discovery),
    },
    {
      provide: Database,
      inject: [orNone(dataSource), WAKEUP, WORKFLOW_SETTINGS],
      useFactory: (source: DataSource | undefined, wakeup: Wakeup, settings: WorkflowSettings) =>
        databaseOf(source ?? noDataSource(connection), wakeup, settings),
    },
    {
      provide: ENGINE_PARTS,
      inject: [Database, WorkflowExplorer, WORKFLOW_SETTINGS],
      useFactory: partsOf,
    },
    { provide: SERVICE_PARTS, useExisting: ENGINE_PARTS },
    {
      provide: WorkflowService,
      inject: [
        ENGINE_PARTS,
        repository(WorkflowRun),
        repository(WorkflowStep),
        repository(WorkflowEvent),
        repository(WorkflowSignal),
      ],
      useFactory: (parts: EngineParts, ...[runs, steps, events, signals]: Values<Repositories>) =>
        new WorkflowService(parts, { runs, steps, events, signals }),
    },
  ];
}

type Values<R extends Repositories> = [R['runs'], R['steps'], R['events'], R['signals']];

/** `TypeOrmModule.forFeature` of the four tables, in which a DataSource that is missing is told of in our words. */
export function repositoriesOf(connection: string | undefined): DynamicModule {
  const feature = TypeOrmModule.forFeature([...WorkflowEntities], connection);
  return {
    ...feature,
    providers: feature.providers?.map((provider) => {
      if (!('useFactory' in provider)) return provider;
      const make = provider.useFactory as (source: DataSource) => unknown;
      return {
        ...provider,
        inject: [orNone(getDataSourceToken(connection))],
        useFactory: (source?: DataSource) => make(source ?? noDataSource(connection)),
      };
    }),
  };
}

/** Nest's own words for one that is missing would not name what is to be done. */
const orNone = (token: InjectionToken) => ({ token, optional: true });

function noDataSource(connection: string | undefined): never {
  throw new WorkflowConfigurationError(
    connection === undefined
      ? 'WorkflowModule finds no DataSource: import TypeOrmModule.forRoot({ type: "postgres", … }) beside it. Where the DataSources have names, say which one has ' +
          `the workflow tables: WorkflowModule.forRoot({ connection: 'orders' }).`
      : `WorkflowModule: "connection" is ${JSON.stringify(connection)}, and no TypeOrmModule.forRoot() here has that name.`,
  );
}

function databaseOf(dataSource: DataSource, wakeup: Wakeup, settings: WorkflowSettings): Database {
  const logger = workflowLogger;
  const engine = engineConnections(dataSource, settings);
  const poolSize = new Pool(dataSource).size;
  return new Database(dataSource, tablesOf(dataSource), wakeup, {
    engineConnections: engine,
    callersConnections: settings.worker ? poolSize - engine : poolSize,
    ...(settings.transaction && { ambient: settings.transaction }),
    failed: (error) =>
      logger.error(
        `What was to follow a commit failed; the commit holds, and polling finds what it made due: ${String(error)}`,
      ),
    wentUnnamed: () =>
      logger.warn(
        'There is a pooler between this process and PostgreSQL, so statements are not prepared under names and each is planned anew. A direct ' +
          'connection is faster.',
      ),
  });
}

/** The engine's share of the pool: the application must always find a connection for itself. */
function engineConnections(dataSource: DataSource, { worker }: WorkflowSettings): number {
  const poolSize = new Pool(dataSource).size;
  const share = (worker && worker.connections) || Math.max(1, Math.floor(poolSize / 2));
  if (share < poolSize || !worker) return share;
  throw new WorkflowConfigurationError(
    `WorkflowModule: "worker.connections" is ${share}, and the DataSource's pool has ${poolSize}; allowed: fewer than the pool has, so ` +
      'that steps find a connection for their own queries. Raise "poolSize" of the DataSource (at least 2), or lower it.',
  );
}

/** Workflows and subjects are looked for when first asked for: Nest has to have made every provider. */
function partsOf(database: Database, explorer: WorkflowExplorer, settings: WorkflowSettings): EngineParts {
  let subjects: Subjects | undefined;
  return {
    database,
    settings,
    worker: workerIdentity(settings),
    errorReporter: settings.errorReporter ?? new LoggingErrorReporter(),
    get registry() {
      return explorer.explore().registry;
    },
    get subjects() {
      const { dataSources, subjectLoaders } = explorer.explore();
      return (subjects ??= new Subjects([...new Set([database.dataSource, ...dataSources])], subjectLoaders));
    },
  };
}
