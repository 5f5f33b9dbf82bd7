import { WorkflowConfigurationError } from '../errors.js';
import {
  assertFunction,
  checkedAccess,
  type AccessCallbacks,
  type AdminAction,
  type AdminRun,
  type CheckedAccess,
} from '../operating/access.options.js';
import {
  assertFlag,
  assertKnownOptions,
  checkedMount,
  type Mount,
  type MountOptions,
} from '../operating/mount.options.js';

/** What `WorkflowAdminModule` asks the application while it answers. The request is the platform's: Express's or Fastify's. */
export interface WorkflowAdminCallbacks extends AccessCallbacks {
  /**
   * Who asks: stands on the audit trail as `dashboard:<name>`. Nothing or a blank: `dashboard`. May be asynchronous.
   *
   * @example
   * ```ts
   * actor: (req) => req.user?.email
   * ```
   */
  actor?: (request: any) => string | null | undefined | Promise<string | null | undefined>;
  /** Where a run's subject has its page: an `http(s)` URL, or a path of this site (`/orders/4`). Anything else, or a throw: no link. */
  subjectUrl?: (type: string, id: string) => string | null | undefined;
  /**
   * Whether whom the guards let in may do this. Falsy: 403. `run` is null for lists, counts and the trail of none, and for a press on a whole
   * attention group. Default: everything. May be asynchronous.
   *
   * @example
   * ```ts
   * can: (req, action) => action === 'read' || req.user.roles.includes('operator')
   * ```
   */
  can?: (request: any, action: AdminAction, run: AdminRun | null) => boolean | Promise<boolean>;
  /** Other origins whose pages may act here (`https://ops.example.com`). Default: only pages of the host that is asked. */
  allowedOrigins?: readonly string[];
}

/** Where the routes are, and who gets to them. */
export interface WorkflowAdminRoutes extends MountOptions {
  /**
   * Under the application's global prefix, if it has one: the dashboard is there, the API at `<path>/api`. Default `'admin/workflows'`. `''` is the root, for
   * an application that has no `/api` and no `/assets` of its own.
   */
  path?: string;
  /** False: no page and no assets, the API alone. Default `true`. */
  dashboard?: boolean;
}

/** Options of `WorkflowAdminModule.forRoot()`. */
export interface WorkflowAdminOptions extends WorkflowAdminRoutes, WorkflowAdminCallbacks {}

/** Checked and complete. */
export interface AdminRoutes extends Mount {
  readonly dashboard: boolean;
}

/** Checked. */
export interface AdminCallbacks extends CheckedAccess {
  readonly subjectUrl: WorkflowAdminCallbacks['subjectUrl'];
}

/** Injection token: where the routes are. */
export const ADMIN_PATH = Symbol('WORKFLOW_ADMIN_PATH');
/** Names the module in errors. */
export const ADMIN = 'WorkflowAdminModule';
export const CALLBACK_KEYS = ['actor', 'subjectUrl', 'can', 'allowedOrigins'] as const;
export const ROUTE_KEYS = ['path', 'guards', 'allowUnauthenticated', 'imports', 'dashboard'] as const;
export const ADMIN_KEYS: readonly string[] = [...ROUTE_KEYS, ...CALLBACK_KEYS];

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function adminRoutesOf({ dashboard = true, ...given }: WorkflowAdminRoutes): AdminRoutes {
  const mount = checkedMount(ADMIN, given, { byDefault: 'admin/workflows', root: true });
  assertFlag(ADMIN, 'dashboard', dashboard);
  if (!mount.guards.length && !mount.allowUnauthenticated) {
    throw new WorkflowConfigurationError(
      'WorkflowAdminModule: there are no "guards", so whoever reaches the application could cancel its runs. Pass guards: [YourAuthGuard], or ' +
        'allowUnauthenticated: true where a global guard (APP_GUARD) covers its routes or nobody else can reach them.',
    );
  }
  return { ...mount, dashboard };
}

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function adminCallbacksOf({ subjectUrl, ...given }: WorkflowAdminCallbacks): AdminCallbacks {
  assertFunction(ADMIN, 'subjectUrl', subjectUrl);
  return { ...checkedAccess(ADMIN, given), subjectUrl };
}

/** @throws {WorkflowConfigurationError} for what is no object, and for options that there are not */
export function assertAdminOptions(
  options: unknown,
  known: readonly string[],
): asserts options is WorkflowAdminOptions {
  assertKnownOptions(ADMIN, options, known, '{ guards: [JwtAuthGuard] }');
}
