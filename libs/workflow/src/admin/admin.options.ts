import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { shown } from '../definition/definition-error.js';
import { WorkflowConfigurationError } from '../errors.js';
import type { RunStatus, Verb } from '../model/states.js';

/** What somebody wants to do: look, or one of the verbs as `available_actions` spells them (`run_now`). */
export type AdminAction = 'read' | Verb;

/** The run that somebody wants to see or act on, as `can` is told of it. */
export interface AdminRun {
  readonly id: string;
  /** The name of its class. */
  readonly class: string;
  readonly status: RunStatus;
  /** The step it stands on. */
  readonly step: string;
  readonly subject: { readonly type: string; readonly id: string } | null;
}

/** What `WorkflowAdminModule` asks the application while it answers. The request is the platform's: Express's or Fastify's. */
export interface WorkflowAdminCallbacks {
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
export interface WorkflowAdminRoutes extends Pick<ModuleMetadata, 'imports'> {
  /**
   * Under the application's global prefix, if it has one: the dashboard is there, the API at `<path>/api`. Default `'admin/workflows'`. `''` is the root, for
   * an application that has no `/api` and no `/assets` of its own.
   */
  path?: string;
  /** False: no page and no assets, the API alone. Default `true`. */
  dashboard?: boolean;
  /** Guard classes, asked in this order for every route. Nest makes them: what they inject comes from `imports`, or is global. */
  guards?: readonly (Type<CanActivate> | CanActivate)[];
  /** True: no guards of its own. For an application whose global guards (`APP_GUARD`) cover all routes, or where nobody else can reach it. */
  allowUnauthenticated?: boolean;
  /** Modules that export what the guards inject. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

/** Options of `WorkflowAdminModule.forRoot()`. */
export interface WorkflowAdminOptions extends WorkflowAdminRoutes, WorkflowAdminCallbacks {}

/** Checked and complete. */
export interface AdminRoutes {
  readonly path: string;
  readonly dashboard: boolean;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly imports: NonNullable<ModuleMetadata['imports']>;
}

/** Checked. */
export interface AdminCallbacks {
  readonly actor: WorkflowAdminCallbacks['actor'];
  readonly subjectUrl: WorkflowAdminCallbacks['subjectUrl'];
  readonly can: WorkflowAdminCallbacks['can'];
  readonly allowedOrigins: ReadonlySet<string>;
}

export const CALLBACK_KEYS = ['actor', 'subjectUrl', 'can', 'allowedOrigins'] as const;
export const ROUTE_KEYS = ['path', 'guards', 'allowUnauthenticated', 'imports', 'dashboard'] as const;
const ROOT = /^\/?$/;
const PATH = /^\/?[\w.~-]+(\/[\w.~-]+)*$/;

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function adminRoutesOf(given: WorkflowAdminRoutes): AdminRoutes {
  const { path = 'admin/workflows', dashboard = true, guards = [], allowUnauthenticated = false, imports = [] } = given;
  if (typeof path !== 'string' || !(PATH.test(path) || ROOT.test(path)) || /(^|\/)\.\.?(\/|$)/.test(path)) {
    throw wrong('path', path, 'a path without parameters and without a slash at its end, such as "admin/workflows"');
  }
  if (typeof dashboard !== 'boolean') throw wrong('dashboard', dashboard, 'true, false');
  if (!Array.isArray(guards) || !guards.every(isGuard)) {
    throw wrong('guards', guards, 'a list of guard classes (with a method canActivate), such as [JwtAuthGuard]');
  }
  if (typeof allowUnauthenticated !== 'boolean')
    throw wrong('allowUnauthenticated', allowUnauthenticated, 'true, false');
  if (!Array.isArray(imports)) throw wrong('imports', imports, 'a list of modules');
  if (!guards.length && !allowUnauthenticated) {
    throw new WorkflowConfigurationError(
      'WorkflowAdminModule: there are no "guards", so whoever reaches the application could cancel its runs. Pass guards: [YourAuthGuard], or ' +
        'allowUnauthenticated: true where a global guard (APP_GUARD) covers its routes or nobody else can reach them.',
    );
  }
  return { path: path.replace(/^\//, ''), dashboard, guards: [...guards], imports };
}

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function adminCallbacksOf(given: WorkflowAdminCallbacks): AdminCallbacks {
  for (const option of ['actor', 'subjectUrl', 'can'] as const) {
    if (given[option] !== undefined && typeof given[option] !== 'function') {
      throw wrong(option, given[option], 'a function');
    }
  }
  const { actor, subjectUrl, can, allowedOrigins = [] } = given;
  if (!Array.isArray(allowedOrigins)) throw wrong('allowedOrigins', allowedOrigins, 'a list of origins');
  return { actor, subjectUrl, can, allowedOrigins: new Set(allowedOrigins.map(originOf)) };
}

/** @throws {WorkflowConfigurationError} for what is no object, and for options that there are not */
export function assertAdminOptions(
  options: unknown,
  known: readonly string[],
): asserts options is WorkflowAdminOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new WorkflowConfigurationError(
      `WorkflowAdminModule: the options are ${shown(options)}; allowed: an object such as { guards: [JwtAuthGuard] }.`,
    );
  }
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new WorkflowConfigurationError(
    `WorkflowAdminModule: there is no option "${unknown}"; there are: ${known.join(', ')}.`,
  );
}

export const ADMIN_KEYS: readonly string[] = [...ROUTE_KEYS, ...CALLBACK_KEYS];

/** A function that makes a guard (`AuthGuard` without its `('jwt')`) is none: Nest 11 takes it, and lets everybody through. */
function isGuard(value: unknown): boolean {
  const guard: unknown = typeof value === 'function' ? value.prototype : value;
  return typeof (guard as CanActivate | null | undefined)?.canActivate === 'function';
}

function originOf(given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw wrong(
    'allowedOrigins',
    given,
    'origins such as "https://ops.example.com": scheme and host, nothing after them',
  );
}

function wrong(option: string, value: unknown, allowed: string): WorkflowConfigurationError {
  return new WorkflowConfigurationError(`WorkflowAdminModule: "${option}" is ${shown(value)}; allowed: ${allowed}.`);
}
