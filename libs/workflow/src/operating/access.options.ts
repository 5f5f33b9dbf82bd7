import { shown } from '../definition/definition-error.js';
import { WorkflowConfigurationError } from '../errors.js';
import type { RunStatus, Verb } from '../model/states.js';

/** What somebody wants to do: look, or one of the verbs as `available_actions` spells them (`run_now`). */
export type AdminAction = 'read' | Verb;

/** The run that somebody wants to see or act on, as `can` is told of it. */
export interface AdminRun {
  /** The run's id, a UUID. */
  readonly id: string;
  /** The name of its class. */
  readonly class: string;
  /** Where it stands. */
  readonly status: RunStatus;
  /** The step it stands on. */
  readonly step: string;
  /** What it is about; null when it is about nothing. */
  readonly subject: {
    /** Its entity's name, or its class's. */
    readonly type: string;
    /** Its id, as text. */
    readonly id: string;
  } | null;
}

/** What the application is asked about whoever asks. The request is the platform's: Express's or Fastify's. */
export interface AccessCallbacks {
  /** Who asks. May be asynchronous. */
  actor?: (request: any) => string | null | undefined | Promise<string | null | undefined>;
  /** Whether whom the guards let in may do this. Default: everything. May be asynchronous. */
  can?: (request: any, action: AdminAction, run: AdminRun | null) => boolean | Promise<boolean>;
  /** Origins whose pages may ask, beside those that may anyway. */
  allowedOrigins?: readonly string[];
}

/** Checked. */
export interface CheckedAccess {
  readonly actor: AccessCallbacks['actor'];
  readonly can: AccessCallbacks['can'];
  readonly allowedOrigins: ReadonlySet<string>;
}

/**
 * @param module names it in the error: `WorkflowAdminModule`
 * @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed
 */
export function checkedAccess(module: string, { actor, can, allowedOrigins = [] }: AccessCallbacks): CheckedAccess {
  assertFunction(module, 'actor', actor);
  assertFunction(module, 'can', can);
  if (!Array.isArray(allowedOrigins)) {
    throw wrongOption(module, 'allowedOrigins', allowedOrigins, 'a list of origins');
  }
  return { actor, can, allowedOrigins: new Set(allowedOrigins.map((origin) => originOf(module, origin))) };
}

/** @throws {WorkflowConfigurationError} for what is neither a function nor left out */
export function assertFunction(module: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw wrongOption(module, option, value, 'a function');
}

export function wrongOption(
  module: string,
  option: string,
  value: unknown,
  allowed: string,
): WorkflowConfigurationError {
  return new WorkflowConfigurationError(`${module}: "${option}" is ${shown(value)}; allowed: ${allowed}.`);
}

function originOf(module: string, given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw wrongOption(
    module,
    'allowedOrigins',
    given,
    'origins such as "https://ops.example.com": scheme and host, nothing after them',
  );
}
