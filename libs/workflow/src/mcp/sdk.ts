import { WorkflowConfigurationError } from '../errors.js';

type ServerModule = typeof import('@modelcontextprotocol/sdk/server/index.js');
type TransportModule = typeof import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js');
type TypesModule = typeof import('@modelcontextprotocol/sdk/types.js');
type ValidationModule = typeof import('@modelcontextprotocol/sdk/validation/ajv');

/** What is used of `@modelcontextprotocol/sdk`. */
export type Sdk = Pick<ServerModule, 'Server'> &
  Pick<TransportModule, 'WebStandardStreamableHTTPServerTransport'> &
  Pick<TypesModule, 'ListToolsRequestSchema' | 'ErrorCode'> &
  Pick<ValidationModule, 'AjvJsonSchemaValidator'>;

/**
 * The SDK, an optional peer: loaded by whoever mounts the module. (The `require` stands in a `try`: bundlers then let it be where it is not installed.)
 *
 * @throws {WorkflowConfigurationError} saying what to install
 */
export function loadSdk(): Sdk {
  try {
    /* eslint-disable @typescript-eslint/no-require-imports */
    return {
      ...(require('@modelcontextprotocol/sdk/server/index.js') as ServerModule),
      ...(require('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js') as TransportModule),
      ...(require('@modelcontextprotocol/sdk/types.js') as TypesModule),
      ...(require('@modelcontextprotocol/sdk/validation/ajv') as ValidationModule),
    };
    /* eslint-enable @typescript-eslint/no-require-imports */
  } catch (cause) {
    throw new WorkflowConfigurationError(
      'WorkflowMcpModule needs @modelcontextprotocol/sdk (1.26 or a later 1.x), which could not be loaded: npm install @modelcontextprotocol/sdk',
      { cause },
    );
  }
}
