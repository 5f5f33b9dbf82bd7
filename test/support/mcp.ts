import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WorkflowMcpModule, type WorkflowMcpOptions } from 'nestjs-pg-workflows/mcp';
import { bootAdmin, type AdminApp, type AdminBoot } from './admin';
import type { Suite } from './suite';

export const TOKEN = 'a-token-that-is-long-enough';

export interface Connection {
  /** As the client calls itself. */
  name?: string;
  token?: string | null;
  path?: string;
  headers?: Record<string, string>;
}

/** What a tool answered: `body` is its structured content, `text` the text beside it. */
export interface Called {
  readonly isError: boolean;
  readonly body: any;
  readonly text: string;
}

/** The SDK's own client, connected by HTTP. */
export interface McpClient {
  readonly client: Client;
  readonly call: (tool: string, given?: Record<string, unknown>) => Promise<Called>;
  readonly close: () => Promise<void>;
}

export interface McpApp extends AdminApp {
  readonly connect: (connection?: Connection) => Promise<McpClient>;
}

/** An application with REST at `admin/workflows` and the MCP server at `mcp`, behind the token unless `mcp` says otherwise. */
export async function bootMcp(
  suite: Suite,
  { mcp = {}, imports = [], ...boot }: AdminBoot & { mcp?: WorkflowMcpOptions | null } = {},
): Promise<McpApp> {
  const guarded = mcp && (mcp.guards ?? mcp.allowUnauthenticated) === undefined ? { token: TOKEN, ...mcp } : mcp;
  const app = await bootAdmin(suite, {
    ...boot,
    imports: [...imports, ...(guarded ? [WorkflowMcpModule.forRoot(guarded)] : [])],
  });
  const clients: McpClient[] = [];
  return {
    ...app,
    connect: async (connection = {}) => {
      const connected = await connectTo(app.url, connection);
      clients.push(connected);
      return connected;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await app.close();
    },
  };
}

export async function connectTo(url: string, connection: Connection = {}): Promise<McpClient> {
  const { name = 'test-client', token = TOKEN, path = '/mcp', headers = {} } = connection;
  const client = new Client({ name, version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(path, url), {
      requestInit: { headers: { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) } },
    }),
  );
  // Validates what is answered against the schemas that are listed.
  await client.listTools();
  return {
    client,
    call: async (tool, given = {}) => {
      const answer = await client.callTool({ name: tool, arguments: given });
      const [{ text }] = answer.content as { text: string }[];
      if (answer.structuredContent) expect(JSON.parse(text)).toEqual(answer.structuredContent);
      return { isError: answer.isError === true, body: answer.structuredContent, text };
    },
    close: () => client.close(),
  };
}
