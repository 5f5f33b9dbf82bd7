import { Module, type DynamicModule, type FactoryProvider, type Provider, type Type } from '@nestjs/common';
import { WorkflowConfigurationError } from '../errors.js';
import { SERVICE_PARTS, type ServiceParts } from '../service/service.parts.js';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import {
  ADMIN_KEYS,
  adminCallbacksOf,
  adminRoutesOf,
  assertAdminOptions,
  CALLBACK_KEYS,
  ROUTE_KEYS,
  type AdminRoutes,
  type WorkflowAdminCallbacks,
  type WorkflowAdminOptions,
  type WorkflowAdminRoutes,
} from './admin.options.js';
import { Answering } from './answering.js';
import { ADMIN_PATH, BrokenJson } from './broken-json.js';
import { Dashboard } from './dashboard.js';
import { DashboardSlash } from './dashboard-slash.js';
import { BUILT_DASHBOARD, DashboardFiles } from './dashboard-files.js';
import { mountedAt } from './mount.js';

/** Makes what `WorkflowAdminModule.forRootAsync()` cannot be told beforehand. */
export interface WorkflowAdminOptionsFactory {
  createWorkflowAdminOptions(): WorkflowAdminCallbacks | Promise<WorkflowAdminCallbacks>;
}

/** Options of `WorkflowAdminModule.forRootAsync()`: routes and guards are known before the factory runs, what it is asked afterwards. */
export interface WorkflowAdminAsyncOptions extends WorkflowAdminRoutes {
  inject?: FactoryProvider['inject'];
  useFactory?: (...args: any[]) => WorkflowAdminCallbacks | Promise<WorkflowAdminCallbacks>;
  useClass?: Type<WorkflowAdminOptionsFactory>;
  useExisting?: Type<WorkflowAdminOptionsFactory>;
}

const CALLBACKS = Symbol('WORKFLOW_ADMIN_CALLBACKS');
const FACTORIES = ['useFactory', 'useClass', 'useExisting'] as const;

/**
 * Administering runs over HTTP, for people and programs: a dashboard at `<path>`, a REST API at `<path>/api`. They stand behind the application's own guards. Import it beside
 * `WorkflowModule`, or by its option `admin`.
 *
 * @example
 * ```ts
 * WorkflowAdminModule.forRoot({
 *   path: 'admin/workflows',
 *   guards: [JwtAuthGuard, RolesGuard],
 *   actor: (req) => req.user?.email,
 *   can: (req, action) => action === 'read' || req.user.roles.includes('operator'),
 *   subjectUrl: (type, id) => `/admin/${type}/${id}`,
 * })
 * ```
 */
@Module({})
export class WorkflowAdminModule {
  /** @throws {WorkflowConfigurationError} for an option that cannot be right, and without guards */
  static forRoot(options: WorkflowAdminOptions): DynamicModule {
    assertAdminOptions(options ?? {}, ADMIN_KEYS);
    const callbacks = adminCallbacksOf(options ?? {});
    return moduleOf(adminRoutesOf(options ?? {}), [
      { provide: AdminAccess, useFactory: () => new AdminAccess(callbacks) },
    ]);
  }

  /** As `forRoot`, with `actor`, `can`, `subjectUrl` and `allowedOrigins` from other providers. */
  static forRootAsync(options: WorkflowAdminAsyncOptions): DynamicModule {
    assertAdminOptions(options, [...ROUTE_KEYS, 'inject', ...FACTORIES]);
    const made = FACTORIES.map((key) => options[key]).filter((one) => one !== undefined);
    if (made.length !== 1 || typeof made[0] !== 'function') {
      throw new WorkflowConfigurationError(
        'WorkflowAdminModule.forRootAsync takes { path?, guards, imports?, inject? } and one of useFactory (a function), useClass, useExisting ' +
          '(a class).',
      );
    }
    const access: Provider = {
      provide: AdminAccess,
      inject: [CALLBACKS],
      useFactory: (given: WorkflowAdminCallbacks) => {
        assertMadeByFactory(given);
        return new AdminAccess(adminCallbacksOf(given));
      },
    };
    return moduleOf(adminRoutesOf(options), [access, ...callbackProviders(options)]);
  }
}

function moduleOf(routes: AdminRoutes, providers: Provider[]): DynamicModule {
  return {
    module: WorkflowAdminModule,
    imports: [...routes.imports],
    controllers: mountedAt(routes),
    providers: [
      ...providers,
      Answering,
      { provide: ADMIN_PATH, useValue: routes.path },
      BrokenJson,
      ...(routes.dashboard ? DASHBOARD : []),
      {
        provide: AdminReads,
        inject: [{ token: SERVICE_PARTS, optional: true }],
        useFactory: readsOf,
      },
    ],
  };
}

const DASHBOARD: readonly Provider[] = [
  { provide: DashboardFiles, useFactory: () => DashboardFiles.of(BUILT_DASHBOARD) },
  Dashboard,
  DashboardSlash,
];

function readsOf(parts: ServiceParts | undefined): AdminReads {
  if (parts) return new AdminReads(parts);
  throw new WorkflowConfigurationError(
    'WorkflowAdminModule needs WorkflowModule: import WorkflowModule.forRoot() or forRootAsync() in the root module.',
  );
}

function callbackProviders({ inject = [], useFactory, useClass, useExisting }: WorkflowAdminAsyncOptions): Provider[] {
  if (useFactory) return [{ provide: CALLBACKS, inject, useFactory }];
  const factory = (useClass ?? useExisting)!;
  const callbacks: Provider = {
    provide: CALLBACKS,
    inject: [factory],
    useFactory: (maker: WorkflowAdminOptionsFactory) => maker.createWorkflowAdminOptions(),
  };
  return useClass ? [useClass, callbacks] : [callbacks];
}

/** @throws {WorkflowConfigurationError} for a path or guards that come too late to be heeded, and for what there is not */
function assertMadeByFactory(given: WorkflowAdminCallbacks): void {
  const late = ROUTE_KEYS.find((key) => typeof given === 'object' && given !== null && key in given);
  if (late !== undefined) {
    throw new WorkflowConfigurationError(
      `WorkflowAdminModule: the factory of forRootAsync returned "${late}"; set it beside useFactory: routes and guards are known before the ` +
        'factory runs.',
    );
  }
  assertAdminOptions(given, CALLBACK_KEYS);
}
