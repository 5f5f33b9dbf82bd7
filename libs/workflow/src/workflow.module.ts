import {
  Global,
  Inject,
  Module,
  Optional,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModulesContainer } from '@nestjs/core';
import { getDataSourceToken, getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { WorkflowAdminModule } from './admin/workflow-admin.module.js';
import type { WorkflowAdminOptions } from './admin/admin.options.js';
import { ENGINE_PARTS, type EngineParts } from './engine/engine.parts.js';
import { WorkflowConfigurationError } from './errors.js';
import { WorkflowEvent } from './model/workflow-event.entity.js';
import { WorkflowRun } from './model/workflow-run.entity.js';
import { WorkflowSignal } from './model/workflow-signal.entity.js';
import { WorkflowStep } from './model/workflow-step.entity.js';
import { LoggingErrorReporter } from './observe/error-reporter.js';
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
import {
  assertOptions,
  settingsOf,
  WORKFLOW_SETTINGS,
  type WorkflowModuleOptions,
  type WorkflowSettings,
} from './workflow.options.js';
import { healthEndpoint, WorkflowHealthIndicator } from './workflow.health.js';
import { WorkflowMetrics } from './workflow.metrics.js';
import { DISPATCHER_MODES, WAKEUP, WorkflowRuntime } from './workflow.runtime.js';
import { workflowLogger } from './observe/log.js';

/** Makes the options of `WorkflowModule.forRootAsync()`. */
export interface WorkflowOptionsFactory {
  /** Asked once, as the application boots. */
  createWorkflowOptions(): WorkflowModuleOptions | Promise<WorkflowModuleOptions>;
}

/** Options of `WorkflowModule.forRootAsync()`. */
export interface WorkflowModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** The DataSource with the workflow tables: it must be known before the factory runs. Default: the default one. */
  connection?: string;
  /** As `healthPath` of `forRoot`: routes, too, must be known before the factory runs. */
  healthPath?: string;
  /** As `admin` of `forRoot`, for the same reason. What comes from other providers goes to `WorkflowAdminModule.forRootAsync()`. */
  admin?: WorkflowAdminOptions;
  /** Tokens of the providers that `useFactory` is called with. */
  inject?: FactoryProvider['inject'];
  /** Makes the options, once, as the application boots. */
  useFactory?: (...args: any[]) => WorkflowModuleOptions | Promise<WorkflowModuleOptions>;
  /** A class that makes the options: a provider of its own is made of it. */
  useClass?: Type<WorkflowOptionsFactory>;
  /** A provider of `imports` that makes the options. */
  useExisting?: Type<WorkflowOptionsFactory>;
}

const RAW_OPTIONS = Symbol('WORKFLOW_OPTIONS');

/**
 * Durable workflows on the application's PostgreSQL. Import it once, in the root module; it is global. Workflow classes are found
 * among the providers of all modules by their decorators.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [
 *     TypeOrmModule.forRoot({ type: 'postgres', url, autoLoadEntities: true, migrations: [...WorkflowMigrations], migrationsRun: true }),
 *     WorkflowModule.forRoot({ worker: { concurrency: 100 } }),
 *   ],
 *   providers: [OrderWorkflow],
 * })
 * export class AppModule {}
 * ```
 */
@Global()
@Module({})
export class WorkflowModule implements OnModuleInit {
  /** @internal */
  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Optional() @Inject(WORKFLOW_SETTINGS) private readonly settings?: WorkflowSettings,
  ) {}

  /**
   * The module with its settings, for the `imports` of the root module, once.
   *
   * @param options settings that differ from their defaults
   * @throws {WorkflowConfigurationError} for a setting that cannot be right
   */
  static forRoot(options: WorkflowModuleOptions = {}): DynamicModule {
    const settings = settingsOf(options);
    return this.with(settings, [{ provide: WORKFLOW_SETTINGS, useValue: settings }], []);
  }

  /**
   * As `forRoot`, with options that come from other providers.
   *
   * @param options how to make them, and what must be known before
   */
  static forRootAsync(options: WorkflowModuleAsyncOptions): DynamicModule {
    const { connection, healthPath, admin, imports = [] } = assertAsyncOptions(options);
    const settings: Provider = {
      provide: WORKFLOW_SETTINGS,
      inject: [RAW_OPTIONS],
      useFactory: (given: WorkflowModuleOptions) => {
        assertOptions(given);
        if (given.connection !== undefined && given.connection !== connection) {
          throw new WorkflowConfigurationError(
            `WorkflowModule: the factory of forRootAsync returned "connection" ${JSON.stringify(given.connection)}; set it beside ` +
              'useFactory, where it is known before the factory runs.',
          );
        }
        if (given.healthPath !== undefined && given.healthPath !== healthPath) {
          throw new WorkflowConfigurationError(
            `WorkflowModule: the factory of forRootAsync returned "healthPath" ${JSON.stringify(given.healthPath)}; set it beside ` +
              'useFactory: routes are known before the factory runs.',
          );
        }
        if (given.admin !== undefined && given.admin !== admin) {
          throw new WorkflowConfigurationError(
            'WorkflowModule: the factory of forRootAsync returned "admin"; set it beside useFactory, or import WorkflowAdminModule.forRootAsync(): ' +
              'routes are known before the factory runs.',
          );
        }
        return settingsOf({ ...given, ...(connection !== undefined && { connection }) });
      },
    };
    const known = settingsOf({
      ...(connection !== undefined && { connection }),
      ...(healthPath !== undefined && { healthPath }),
      ...(admin !== undefined && { admin }),
    });
    return this.with(known, [settings, ...optionsProviders(options)], imports);
  }

  private static with(
    { connection, healthPath, admin }: Pick<WorkflowSettings, 'connection' | 'healthPath' | 'admin'>,
    providers: Provider[],
    imports: NonNullable<ModuleMetadata['imports']>,
  ): DynamicModule {
    const health = healthPath === undefined ? { imports: [], controllers: [] } : healthEndpoint(healthPath);
    return {
      module: WorkflowModule,
      imports: [
        ...imports,
        ...health.imports,
        ...(admin ? [WorkflowAdminModule.forRoot(admin)] : []),
        DiscoveryModule,
        TypeOrmModule.forFeature([...WorkflowEntities], connection),
      ],
      controllers: health.controllers,
      providers: [
        ...providers,
        ...engineProviders(connection),
        WorkflowMetrics,
        WorkflowRuntime,
        WorkflowHealthIndicator,
      ],
      exports: [WorkflowService, WorkflowHealthIndicator, SERVICE_PARTS, TypeOrmModule],
    };
  }

  /** @internal */
  onModuleInit(): void {
    if (!this.settings) {
      throw new WorkflowConfigurationError(
        'WorkflowModule was imported without its settings: import WorkflowModule.forRoot() or forRootAsync(), once, in the root module. ' +
          'It is global, other modules need no import.',
      );
    }
    const imported = [...this.modules.values()].filter(({ metatype }) => metatype === WorkflowModule);
    if (imported.length === 1) return;
    throw new WorkflowConfigurationError(
      `WorkflowModule is in this application ${imported.length} times. Call WorkflowModule.forRoot() once, in the root module: ` +
        'it is global, other modules need no import.',
    );
  }
}

function assertAsyncOptions(options: unknown): WorkflowModuleAsyncOptions {
  const given = (options ?? {}) as WorkflowModuleAsyncOptions;
  const factories = [given.useFactory, given.useClass, given.useExisting].filter((one) => one !== undefined);
  if (factories.length === 1 && typeof factories[0] === 'function') return given;
  throw new WorkflowConfigurationError(
    'WorkflowModule.forRootAsync takes { connection?, imports?, inject? } and one of useFactory (a function), useClass, useExisting (a class).',
  );
}

function optionsProviders({ inject = [], useFactory, useClass, useExisting }: WorkflowModuleAsyncOptions): Provider[] {
  if (useFactory) return [{ provide: RAW_OPTIONS, inject, useFactory }];
  const factory = (useClass ?? useExisting)!;
  const options: Provider = {
    provide: RAW_OPTIONS,
    inject: [factory],
    useFactory: (made: WorkflowOptionsFactory) => made.createWorkflowOptions(),
  };
  return useClass ? [useClass, options] : [options];
}

function engineProviders(connection: string | undefined): Provider[] {
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
      inject: [dataSource, WAKEUP, WORKFLOW_SETTINGS],
      useFactory: (source: DataSource, wakeup: Wakeup, settings: WorkflowSettings) =>
        databaseOf(source, wakeup, settings),
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
