import type { OnModuleInit } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { PlatformRequest } from './platform-request.js';
import { ResponseHeaders } from './response-headers.guard.js';

/** What Express's parser finds wrong with a body. */
export type BodyProblem = 'entity.parse.failed' | 'entity.too.large';

type Next = (error?: unknown) => void;

/**
 * A body that cannot be read is refused by Express's parser, before any route is looked for, in words that quote the body. For a module's routes they are
 * the module's. Fastify's words quote nothing.
 */
export class BrokenBody implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    /** Whether a path is one of the module's, under whatever prefix. It is in lower case, and without a query. */
    private readonly isOurs: (path: string) => boolean,
    private readonly refusals: { readonly [Problem in BodyProblem]?: (response: unknown) => void },
  ) {}

  /** Nest has added the parsers by now, and adds its own handler of errors afterwards. */
  onModuleInit(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter?.getType() !== 'express') return;
    const express = httpAdapter.getInstance<{ use(handler: unknown): void }>();
    // Express tells handlers of errors by their four parameters.
    express.use((error: unknown, request: PlatformRequest, response: unknown, next: Next) => {
      const refuse = this.refusals[(error as { type?: BodyProblem } | null)?.type as BodyProblem];
      if (!refuse || !this.isOurs(pathOf(request))) return next(error);
      new ResponseHeaders(this.host).setOn(response);
      refuse(response);
    });
  }
}

function pathOf({ originalUrl, url }: PlatformRequest): string {
  return (originalUrl ?? url)
    .split('?', 1)[0]!
    .replace(/\/{2,}/g, '/')
    .toLowerCase();
}
