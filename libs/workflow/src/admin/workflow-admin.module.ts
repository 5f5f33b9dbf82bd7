import { Module, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WorkflowConfigurationError } from '../errors.js';
import { Acting } from '../operating/acting.js';
import { BrokenBody } from '../operating/broken-body.js';
import { assertNotLate, LATE_KEYS, lateProviders, type LateOptions } from '../operating/mount.options.js';
import { Refusal } from '../operating/refusal.js';
import { SERVICE_PARTS, type ServiceParts } from '../service/service.parts.js';
import { WorkflowService } from '../service/workflow.service.js';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import {
  ADMIN,
  ADMIN_KEYS,
  ADMIN_PATH,
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
import { Dashboard } from './dashboard.js';
import { DashboardSlash } from './dashboard-slash.js';
import { BUILT_DASHBOARD, DashboardFiles } from './dashboard-files.js';
import { mountedAt } from './mount.js';

/** Makes what `WorkflowAdminModule.forRootAsync()` cannot be told beforehand. */
export interface WorkflowAdminOptionsFactory {
  /** Asked once, as the application boots. */
  createWorkflowAdminOptions(): WorkflowAdminCallbacks | Promise<WorkflowAdminCallbacks>;
}

/** Options of `WorkflowAdminModule.forRootAsync()`: routes and guards are known before the factory runs, what it is asked afterwards. */
export interface WorkflowAdminAsyncOptions extends WorkflowAdminRoutes, LateOptions<WorkflowAdminCallbacks> {
  /** A class that makes it: a provider of its own is made of the class. */
  useClass?: Type<WorkflowAdminOptionsFactory>;
  /** A provider that makes it. */
  useExisting?: Type<WorkflowAdminOptionsFactory>;
}

const CALLBACKS = Symbol('WORKFLOW_ADMIN_CALLBACKS');

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
  /**
   * The module with its options, for `imports`, once.
   *
   * @param options routes, guards, and what the application is asked
   * @throws {WorkflowConfigurationError} for an option that cannot be right, and without guards
   */
  static forRoot(options: WorkflowAdminOptions): DynamicModule {
    assertAdminOptions(options ?? {}, ADMIN_KEYS);
    const callbacks = adminCallbacksOf(options ?? {});
    return moduleOf(adminRoutesOf(options ?? {}), [
      { provide: AdminAccess, useFactory: () => new AdminAccess(callbacks) },
    ]);
  }

  /**
   * As `forRoot`, with `actor`, `can`, `subjectUrl` and `allowedOrigins` from other providers.
   *
   * @param options routes and guards, and how to make the rest
   */
  static forRootAsync(options: WorkflowAdminAsyncOptions): DynamicModule {
    assertAdminOptions(options, [...ROUTE_KEYS, ...LATE_KEYS]);
    const late = lateProviders<WorkflowAdminCallbacks>(ADMIN, CALLBACKS, options, {
      method: 'createWorkflowAdminOptions',
      takes: '{ path?, guards, imports?, inject? }',
    });
    const access: Provider = {
      provide: AdminAccess,
      inject: [CALLBACKS],
      useFactory: (given: WorkflowAdminCallbacks) => {
        assertNotLate(ADMIN, given, ROUTE_KEYS);
        assertAdminOptions(given, CALLBACK_KEYS);
        return new AdminAccess(adminCallbacksOf(given));
      },
    };
    return moduleOf(adminRoutesOf(options), [access, ...late]);
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
      { provide: Acting, inject: [{ token: WorkflowService, optional: true }], useFactory: actingOf },
      { provide: BrokenBody, inject: [HttpAdapterHost, Answering], useFactory: brokenBodies(routes.path) },
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

/** `AdminReads` refuses the boot without the service. */
function actingOf(workflows: WorkflowService | undefined): Acting {
  return new Acting(workflows!);
}

function brokenBodies(path: string) {
  const api = `${path && '/'}${path}/api/`.toLowerCase();
  return (host: HttpAdapterHost, answering: Answering) =>
    new BrokenBody(host, (asked) => `${asked}/`.includes(api), {
      'entity.parse.failed': (response) =>
        answering.refuse(response, new Refusal(400, 'INVALID_INPUT', 'The body is not JSON.')),
    });
}
