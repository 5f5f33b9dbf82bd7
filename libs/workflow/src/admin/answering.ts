import { Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { isPassing } from '../store/patience.js';
import { bodyOf, Refusal, refusalOf, refusedByApplication } from '../operating/refusal.js';

/** What a route answers, as JSON or as a file; 200 unless it says otherwise. */
export type Answer = JsonAnswer | FileAnswer;

export interface JsonAnswer {
  readonly statusCode?: number;
  readonly body: object;
}

interface FileAnswer {
  readonly statusCode?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Buffer;
}

/**
 * Sends answers by the platform's own means, and so past the application's interceptors, serialisers and filters: what a client of this API gets does not
 * depend on how the application answers elsewhere. (What guards refuse is the application's to answer.)
 */
@Injectable()
export class Answering {
  private readonly logger = new Logger('WorkflowAdmin');

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  async answer(response: unknown, work: () => Promise<Answer>): Promise<void> {
    this.send(response, await work().catch((error: unknown) => this.failed(error)));
  }

  refuse(response: unknown, refusal: Refusal): void {
    this.send(response, { statusCode: refusal.statusCode, body: bodyOf(refusal) });
  }

  private send(response: unknown, answer: Answer): void {
    const { httpAdapter } = this.host;
    // An interceptor of the application's gave up on us, and has answered.
    if (httpAdapter.isHeadersSent(response)) return;
    const { statusCode = 200 } = answer;
    if ('body' in answer) {
      httpAdapter.setHeader(response, 'content-type', 'application/json; charset=utf-8');
      httpAdapter.reply(response, asText(answer.body), statusCode);
      return;
    }
    // Later than a middleware such as helmet, which sets what the application says of its own pages: these win.
    for (const [name, value] of Object.entries(answer.headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.status(response, statusCode);
    // Nest's own `reply` makes JSON of a Buffer; what both platforms call `send` takes one.
    (response as { send(content: Buffer): void }).send(answer.content);
  }

  private failed(error: unknown): JsonAnswer {
    const refusal = refusalOf(error) ?? refusedByApplication(error) ?? this.unexpected(error);
    return { statusCode: refusal.statusCode, body: bodyOf(refusal) };
  }

  /** What it was is for the log, not for whoever asked. */
  private unexpected(error: unknown): Refusal {
    this.logger.error(
      `A request to the workflows' API failed: ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}`,
      error instanceof Error ? error.stack : undefined,
    );
    return isPassing(error)
      ? new Refusal(503, 'UNAVAILABLE', 'The database cannot answer now. Try again; if that lasts, see the log.')
      : new Refusal(500, 'INTERNAL_ERROR', 'Something unexpected happened; the log of the application says what.');
  }
}

/** JSON in which no browser could find HTML, whatever it took it for. */
function asText(body: object): string {
  return JSON.stringify(body).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
