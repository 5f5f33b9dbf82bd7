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
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowAdminModule } from './admin/workflow-admin.module.js';
import type { WorkflowAdminOptions } from './admin/admin.options.js';
import { WorkflowConfigurationError } from './errors.js';
import { SERVICE_PARTS } from './service/service.parts.js';
import { WorkflowService } from './service/workflow.service.js';
import {
  assertOptions,
  settingsOf,
  WORKFLOW_SETTINGS,
  type WorkflowModuleOptions,
  type WorkflowSettings,
} from './workflow.options.js';
import { healthEndpoint, WorkflowHealthIndicator } from './workflow.health.js';
import { WorkflowMetrics } from './workflow.metrics.js';
import { engineProviders, repositoriesOf } from './workflow.providers.js';
import { WorkflowRuntime } from './workflow.runtime.js';

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
        repositoriesOf(connection),
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
