/**
 * An MCP server beside the REST API, for agents.
 *
 * @module nestjs-pg-workflows/mcp
 */

export {
  WorkflowMcpModule,
  type WorkflowMcpAsyncOptions,
  type WorkflowMcpOptionsFactory,
} from './workflow-mcp.module.js';
export type { WorkflowMcpOptions, WorkflowMcpRoutes, WorkflowMcpSettings } from './mcp.options.js';
export type { AdminAction, AdminRun } from '../operating/access.options.js';
