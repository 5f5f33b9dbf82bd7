import { Module, type DynamicModule, type FactoryProvider, type Provider, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WorkflowConfigurationError } from '../errors.js';
import { Access } from '../operating/access.js';
import { Acting } from '../operating/acting.js';
import { BrokenBody } from '../operating/broken-body.js';
import { assertNotLate, LATE_KEYS, lateProviders, type LateOptions, type Mount } from '../operating/mount.options.js';
import { SERVICE_PARTS, type ServiceParts } from '../service/service.parts.js';
import { WorkflowService } from '../service/workflow.service.js';
import { logUnexpected, McpEndpoint } from './mcp-endpoint.js';
import { McpReads } from './mcp-reads.js';
import { McpServer } from './mcp-server.js';
import {
  assertGuarded,
  assertMcpOptions,
  MCP,
  MCP_ROUTE_KEYS,
  MCP_SETTING_KEYS,
  mcpRoutesOf,
  mcpSettingsOf,
  McpSettings,
  type WorkflowMcpOptions,
  type WorkflowMcpRoutes,
  type WorkflowMcpSettings,
} from './mcp.options.js';
import { mcpMountedAt } from './mount.js';
import { readTools } from './read.tools.js';
import { loadSdk } from './sdk.js';
import { writeTools } from './write.tools.js';

/** Makes what `WorkflowMcpModule.forRootAsync()` cannot be told beforehand. */
export interface WorkflowMcpOptionsFactory {
  /** Asked once, as the application boots. */
  createWorkflowMcpOptions(): WorkflowMcpSettings | Promise<WorkflowMcpSettings>;
}

/** Options of `WorkflowMcpModule.forRootAsync()`: route and guards are known before the factory runs, the token and the rest come from it. */
export interface WorkflowMcpAsyncOptions extends WorkflowMcpRoutes, LateOptions<WorkflowMcpSettings> {
  /** A class that makes it: a provider of its own is made of the class. */
  useClass?: Type<WorkflowMcpOptionsFactory>;
  /** A provider that makes it. */
  useExisting?: Type<WorkflowMcpOptionsFactory>;
}

const SETTINGS = Symbol('WORKFLOW_MCP_SETTINGS');

/**
 * An MCP server over the record of runs, for agents: streamable HTTP at `<path>`, stateless, behind a token or the application's own guards. It reads; with
 * `writeTools` it acts on single runs too. Import it beside `WorkflowModule`; it needs `@modelcontextprotocol/sdk`.
 *
 * @example
 * ```ts
 * WorkflowMcpModule.forRoot({ token: process.env.WORKFLOWS_MCP_TOKEN })
 * ```
 */
@Module({})
export class WorkflowMcpModule {
  /**
   * The module with its options, for `imports`, once.
   *
   * @param options route, token or guards, and what agents may do
   * @throws {WorkflowConfigurationError} for an option that cannot be right, without token and guards, and without the SDK
   */
  static forRoot(options: WorkflowMcpOptions): DynamicModule {
    assertMcpOptions(options ?? {}, [...MCP_ROUTE_KEYS, ...MCP_SETTING_KEYS]);
    const mount = mcpRoutesOf(options ?? {});
    const settings = mcpSettingsOf(options ?? {});
    assertGuarded(mount, settings);
    return moduleOf(mount, [{ provide: McpSettings, useValue: settings }]);
  }

  /**
   * As `forRoot`, with all but route and guards from other providers.
   *
   * @param options route and guards, and how to make the rest
   */
  static forRootAsync(options: WorkflowMcpAsyncOptions): DynamicModule {
    assertMcpOptions(options, [...MCP_ROUTE_KEYS, ...LATE_KEYS]);
    const late = lateProviders<WorkflowMcpSettings>(MCP, SETTINGS, options, {
      method: 'createWorkflowMcpOptions',
      takes: '{ path?, guards?, imports?, inject? }',
    });
    const mount = mcpRoutesOf(options);
    const settings: FactoryProvider<McpSettings> = {
      provide: McpSettings,
      inject: [SETTINGS],
      useFactory: (given: WorkflowMcpSettings) => {
        assertNotLate(MCP, given, MCP_ROUTE_KEYS);
        assertMcpOptions(given, MCP_SETTING_KEYS);
        const made = mcpSettingsOf(given);
        assertGuarded(mount, made);
        return made;
      },
    };
    return moduleOf(mount, [settings, ...late]);
  }
}

function moduleOf(mount: Mount, providers: Provider[]): DynamicModule {
  const sdk = loadSdk();
  return {
    module: WorkflowMcpModule,
    imports: [...mount.imports],
    controllers: [mcpMountedAt(mount)],
    providers: [
      ...providers,
      {
        provide: McpEndpoint,
        inject: [
          HttpAdapterHost,
          McpSettings,
          { token: SERVICE_PARTS, optional: true },
          { token: WorkflowService, optional: true },
        ],
        useFactory: (host: HttpAdapterHost, settings: McpSettings, parts?: ServiceParts, workflows?: WorkflowService) =>
          new McpEndpoint(host, new McpServer(sdk, toolsOf(settings, parts, workflows)), settings, mount),
      },
      { provide: BrokenBody, inject: [HttpAdapterHost, McpEndpoint], useFactory: brokenBodies(mount) },
    ],
  };
}

/** Read once, as the server is made. */
function toolsOf(settings: McpSettings, parts: ServiceParts | undefined, workflows: WorkflowService | undefined) {
  if (!parts || !workflows) {
    throw new WorkflowConfigurationError(
      `${MCP} needs WorkflowModule: import WorkflowModule.forRoot() or forRootAsync() in the root module.`,
    );
  }
  const { maxPayloadSize } = parts.settings;
  const toolParts = {
    access: new Access(MCP, 'mcp', settings.access),
    reads: new McpReads(parts),
    acting: new Acting(workflows),
    settings,
    maxPayloadSize: Math.min(settings.maxPayloadSize ?? maxPayloadSize, maxPayloadSize),
    unexpected: (tool: string, error: unknown) => logUnexpected(`A call of the MCP tool ${tool}`, error),
  };
  return [...readTools(toolParts), ...(settings.writeTools ? writeTools(toolParts) : [])];
}

function brokenBodies({ path }: Mount) {
  const ours = `/${path}`.toLowerCase();
  return (host: HttpAdapterHost, endpoint: McpEndpoint) =>
    new BrokenBody(host, (asked) => asked.replace(/\/$/, '').endsWith(ours), {
      'entity.parse.failed': (response) => endpoint.refuse(response, 400, 'PARSE_ERROR', 'The body is not JSON.'),
      'entity.too.large': (response) =>
        endpoint.refuse(response, 413, 'REFUSED', 'The body is larger than the application lets bodies be.'),
    });
}
