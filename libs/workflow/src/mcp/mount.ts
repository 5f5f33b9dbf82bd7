import { All, Controller, Inject, Req, Res, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import type { Mount } from '../operating/mount.options.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { ResponseHeaders } from '../operating/response-headers.guard.js';
import { loadSwagger } from '../operating/swagger.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpTokenGuard } from './token.guard.js';

/** The one route of the MCP server. */
@Controller()
class McpController {
  constructor(@Inject(McpEndpoint) private readonly endpoint: McpEndpoint) {}

  @All()
  handle(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.endpoint.handle(request, response);
  }
}

/** The controller at a path, behind guards: a class of its own, as an application may mount it twice. */
export function mcpMountedAt({ path, guards }: Mount): Type {
  const mounted = { McpController: class extends McpController {} }.McpController;
  // Versioned or not, this route is the package's: it is where `path` says.
  Controller({ path, version: VERSION_NEUTRAL })(mounted);
  UseGuards(ResponseHeaders, McpTokenGuard, ...guards)(mounted);
  loadSwagger<{ ApiExcludeController(): ClassDecorator }>()?.ApiExcludeController()(mounted);
  return mounted;
}
