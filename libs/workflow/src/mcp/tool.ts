import type { Access } from '../operating/access.js';
import type { Acting } from '../operating/acting.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import type { McpReads } from './mcp-reads.js';
import type { McpSettings } from './mcp.options.js';

/** What tools work with. */
export interface ToolParts {
  readonly access: Access;
  readonly reads: McpReads;
  readonly acting: Acting;
  readonly settings: McpSettings;
  /** Bytes of JSON that a signal's payload may have. */
  readonly maxPayloadSize: number;
  /** Keeps what nobody expected in the log. */
  readonly unexpected: (tool: string, error: unknown) => void;
}

/** One call. */
export interface ToolCall {
  readonly request: PlatformRequest;
  readonly given: Readonly<Record<string, unknown>>;
  /** As the client calls itself; a blank when it is not known. */
  readonly client: string;
}

/** What a call answers; its text is the same as JSON. */
export interface ToolAnswer {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: object;
  readonly isError?: true;
}

/** A tool as it is listed, and what it does. */
export interface Tool {
  readonly listed: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: object;
    readonly outputSchema: object;
    readonly annotations: ToolAnnotations;
  };
  call(call: ToolCall): Promise<ToolAnswer>;
}

interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint?: boolean;
  /** All there is is this application's record. */
  readonly openWorldHint: false;
}

export function answerOf(body: object): ToolAnswer {
  return { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: body };
}
