import { createHash } from 'node:crypto';
import { WorkflowConfigurationError } from '../errors.js';
import {
  checkedAccess,
  wrongOption,
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

/** Where the MCP server is, and which guards stand before it. */
export interface WorkflowMcpRoutes extends MountOptions {
  /** Under the application's global prefix, if it has one. Default `'mcp'`. */
  path?: string;
}

/** What the MCP server may do, and what it asks the application while it answers. */
export interface WorkflowMcpSettings extends AccessCallbacks {
  /**
   * What a client has to send as `Authorization: Bearer <token>`: at least 16 visible ASCII characters without spaces. Compared in constant time. Beside `guards`,
   * both are asked. Default: none.
   *
   * @example
   * ```ts
   * token: process.env.WORKFLOWS_MCP_TOKEN // made by: openssl rand -hex 32
   * ```
   */
  token?: string;
  /** True: the tools that change runs are there too. Default `false`: reading alone. */
  writeTools?: boolean;
  /**
   * True: a call that asks for it (`include_payloads`) is shown arguments, outputs, signals' payloads and error texts. Default `false`: they are redacted,
   * whatever a call asks for.
   */
  allowPayloads?: boolean;
  /** Bytes of JSON that a signal's payload may have. Default, and at most: `maxPayloadSize` of `WorkflowModule`. */
  maxPayloadSize?: number;
  /**
   * Who asks: stands on the audit trail as `mcp:<name>`. Nothing or a blank: the name that the client gave itself as it connected, or `mcp`. May be asynchronous.
   *
   * @example
   * ```ts
   * actor: (req) => req.user?.email
   * ```
   */
  actor?: (request: any) => string | null | undefined | Promise<string | null | undefined>;
  /**
   * Whether whom the guards let in may do this. Falsy: refused. `run` is null for lists and counts. Default: everything that there are tools for. May be
   * asynchronous.
   *
   * @example
   * ```ts
   * can: (req, action, run) => action === 'read' || run?.class === 'NewsletterWorkflow'
   * ```
   */
  can?: (request: any, action: AdminAction, run: AdminRun | null) => boolean | Promise<boolean>;
  /** Origins whose pages may connect from a browser (`http://localhost:6274`). Default: none; programs send no `Origin`. */
  allowedOrigins?: readonly string[];
}

/** Options of `WorkflowMcpModule.forRoot()`. */
export interface WorkflowMcpOptions extends WorkflowMcpRoutes, WorkflowMcpSettings {}

/** Checked and complete. Injection token too. */
export class McpSettings {
  constructor(
    readonly access: CheckedAccess,
    /** SHA-256 of the token; null: there is none. The token itself is kept nowhere. */
    readonly tokenHash: Buffer | null,
    readonly writeTools: boolean,
    readonly allowPayloads: boolean,
    readonly maxPayloadSize: number | null,
  ) {}
}

/** Names the module in errors. */
export const MCP = 'WorkflowMcpModule';
export const MCP_ROUTE_KEYS = ['path', 'guards', 'allowUnauthenticated', 'imports'] as const;
export const MCP_SETTING_KEYS = [
  'token', 'writeTools', 'allowPayloads', 'maxPayloadSize', 'actor', 'can', 'allowedOrigins',
] as const; // prettier-ignore
const SHORTEST_TOKEN = 16;
const LONGEST_TOKEN = 4_096;

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function mcpRoutesOf(given: WorkflowMcpRoutes): Mount {
  return checkedMount(MCP, given, { byDefault: 'mcp', root: false });
}

/** @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed */
export function mcpSettingsOf(given: WorkflowMcpSettings): McpSettings {
  const { writeTools = false, allowPayloads = false, maxPayloadSize = null } = given;
  assertFlag(MCP, 'writeTools', writeTools);
  assertFlag(MCP, 'allowPayloads', allowPayloads);
  if (maxPayloadSize !== null && !(Number.isSafeInteger(maxPayloadSize) && maxPayloadSize >= 2)) {
    throw wrongOption(MCP, 'maxPayloadSize', maxPayloadSize, 'a whole number of bytes from 2 on');
  }
  // An environment variable that is not set must not open what it was to close.
  const token = 'token' in given ? hashOfToken(given.token) : null;
  return new McpSettings(checkedAccess(MCP, given), token, writeTools, allowPayloads, maxPayloadSize);
}

/**
 * Asked when all of the options are known.
 *
 * @throws {WorkflowConfigurationError} when nobody would be asked who they are
 */
export function assertGuarded({ guards, allowUnauthenticated }: Mount, { tokenHash }: McpSettings): void {
  if (guards.length || tokenHash !== null || allowUnauthenticated) return;
  throw new WorkflowConfigurationError(
    `${MCP}: there is no "token" and there are no "guards", so whoever reaches the application could read its runs. Pass token: ` +
      'process.env.WORKFLOWS_MCP_TOKEN, or guards: [YourAuthGuard], or allowUnauthenticated: true where a global guard (APP_GUARD) covers its route or ' +
      'nobody else can reach it.',
  );
}

/** @throws {WorkflowConfigurationError} for what is no object, and for options that there are not */
export function assertMcpOptions(options: unknown, known: readonly string[]): asserts options is WorkflowMcpOptions {
  assertKnownOptions(MCP, options, known, '{ guards: [TokenGuard] }');
}

/** What was given is in no message: it may be the token, but for a blank. */
function hashOfToken(token: unknown): Buffer {
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) {
    if (token.length >= SHORTEST_TOKEN && token.length <= LONGEST_TOKEN) return hashOf(token);
  }
  const problem =
    token === undefined
      ? 'is undefined; is its environment variable set?'
      : typeof token !== 'string'
        ? `is no text but ${token === null ? 'null' : typeof token}.`
        : token.trim() === ''
          ? 'is blank.'
          : token.length < SHORTEST_TOKEN
            ? 'is too short.'
            : 'is too long, or has spaces or other than visible ASCII characters.';
  throw new WorkflowConfigurationError(
    `${MCP}: "token" ${problem} Allowed: ${SHORTEST_TOKEN} to ${LONGEST_TOKEN} visible ASCII characters without spaces, such as ` +
      '`openssl rand -hex 32` makes. Leave it out where "guards" say who may.',
  );
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
