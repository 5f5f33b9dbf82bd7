import { Logger, type OnModuleInit } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { pageProblem } from '../operating/cross-site.js';
import type { Mount } from '../operating/mount.options.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { UNEXPECTED } from './failure.js';
import { rpcError } from './json-rpc.js';
import type { HttpAnswer, McpServer } from './mcp-server.js';
import { MCP, type McpSettings } from './mcp.options.js';

/** A batch has at most so many, whatever the SDK's version takes. */
const MOST_MESSAGES = 100;

/** What was unexpected goes here. */
const mcpLogger = new Logger('WorkflowMcp');

/**
 * The server's HTTP side. Answers go out by the platform's own means, past the application's interceptors and filters, as those of REST do. Injection token
 * too.
 */
export class McpEndpoint implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly server: McpServer,
    private readonly settings: McpSettings,
    private readonly mount: Mount,
  ) {}

  onModuleInit(): void {
    const { guards, path } = this.mount;
    if (guards.length || this.settings.tokenHash !== null || !this.settings.writeTools) return;
    mcpLogger.warn(
      `${MCP} at "${path}" has writeTools and allowUnauthenticated: anyone who reaches it can change runs. Pass "token" or "guards", unless a global ` +
        'guard covers it or nobody else can reach it.',
    );
  }

  async handle(request: PlatformRequest, response: unknown): Promise<void> {
    this.send(response, await this.answer(request).catch((error: unknown) => this.failed(error)));
  }

  /** A request that never came as far as the route: Express's parser refused its body. */
  refuse(response: unknown, status: number, code: Parameters<typeof rpcError>[0], message: string): void {
    this.send(response, refusal(status, code, message));
  }

  private async answer(request: PlatformRequest): Promise<HttpAnswer> {
    const problem = pageProblem(request, this.settings.access.allowedOrigins, MCP);
    if (problem !== null) return refusal(403, 'REFUSED', problem);
    if (request.method !== 'POST') {
      const message = 'There are no streams and no sessions to end here: send each message by POST.';
      return { ...refusal(405, 'REFUSED', message), headers: { allow: 'POST', 'content-type': 'application/json' } };
    }
    const { body } = request;
    if (body === undefined && /^application\/json/i.test(String(request.headers['content-type']))) {
      const message =
        'There is no body, or the application did not parse it: it was made with "bodyParser: false", or leaves this route out.';
      return refusal(400, 'PARSE_ERROR', message);
    }
    if (Array.isArray(body) && (body.length === 0 || body.length > MOST_MESSAGES)) {
      return refusal(400, 'INVALID_REQUEST', `Send 1 to ${MOST_MESSAGES} messages at once.`);
    }
    if (Array.isArray(body) && haveIdTwice(body)) {
      return refusal(
        400,
        'INVALID_REQUEST',
        'Two messages have the same id, so that only one would be answered: nothing was done.',
      );
    }
    return this.server.answer(request, body ?? null);
  }

  private failed(error: unknown): HttpAnswer {
    logUnexpected('A request to the MCP server', error);
    return refusal(500, 'INTERNAL_ERROR', UNEXPECTED);
  }

  private send(response: unknown, { status, headers, body }: HttpAnswer): void {
    const { httpAdapter } = this.host;
    // An interceptor of the application's gave up on us, and has answered.
    if (httpAdapter.isHeadersSent(response)) return;
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, body, status);
  }
}

function haveIdTwice(messages: readonly unknown[]): boolean {
  const ids = messages.flatMap((message) => {
    const id = (message as { id?: unknown } | null)?.id;
    return id === undefined || id === null ? [] : [id];
  });
  return new Set(ids).size < ids.length;
}

function refusal(status: number, code: Parameters<typeof rpcError>[0], message: string): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(rpcError(code, message)) };
}

/** Neither what was sent nor a token is in it. */
export function logUnexpected(what: string, error: unknown): void {
  mcpLogger.error(
    `${what} failed: ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}`,
    error instanceof Error ? error.stack : undefined,
  );
}
