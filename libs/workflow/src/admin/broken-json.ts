import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { AdminRequest } from './admin-request.js';
import { Answering } from './answering.js';
import { Refusal } from './refusal.js';
import { ResponseHeaders } from './response-headers.guard.js';

/** Injection token: where the routes are. */
export const ADMIN_PATH = Symbol('WORKFLOW_ADMIN_PATH');

type Next = (error?: unknown) => void;

/**
 * A body that is not JSON is refused by Express's parser, before any route is looked for, in words that quote the body. For these routes they are
 * ours. Fastify's words quote nothing.
 */
@Injectable()
export class BrokenJson implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Answering) private readonly answering: Answering,
    @Inject(ADMIN_PATH) private readonly path: string,
  ) {}

  /** Nest has added the parsers by now, and adds its own handler of errors afterwards. */
  onModuleInit(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter?.getType() !== 'express') return;
    const express = httpAdapter.getInstance<{ use(handler: unknown): void }>();
    // Express tells handlers of errors by their four parameters.
    express.use((error: unknown, request: AdminRequest, response: unknown, next: Next) => {
      if ((error as { type?: unknown } | null)?.type !== 'entity.parse.failed' || !this.isOurs(request)) {
        return next(error);
      }
      new ResponseHeaders(this.host).setOn(response);
      this.answering.refuse(response, new Refusal(400, 'INVALID_INPUT', 'The body is not JSON.'));
    });
  }

  /** Under whatever prefix. */
  private isOurs({ originalUrl, url }: AdminRequest): boolean {
    const asked = (originalUrl ?? url)
      .split('?', 1)[0]!
      .replace(/\/{2,}/g, '/')
      .toLowerCase();
    return `${asked}/`.includes(`${this.path && '/'}${this.path}/api/`.toLowerCase());
  }
}
