import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ADMIN_PATH } from './admin.options.js';

/** Stands for no name in the parameter of {@link SLASH_ROUTE}. */
export const NO_NAME = '/';
/** Under the module's path. */
export const SLASH_ROUTE = ':rest';

interface FastifyRequest {
  readonly routeOptions?: { readonly url?: string };
  readonly params: Record<string, string> | null;
}

/**
 * `<path>/` on Fastify. Nest registers no route that ends in a slash, and Fastify knows `<path>/` as {@link SLASH_ROUTE} with an empty parameter alone;
 * which Nest's adapter, from 12.5 on, takes for no route. So the parameter gets a value before the adapter looks. (Express takes `<path>/` for `<path>`.)
 */
@Injectable()
export class DashboardSlash implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ADMIN_PATH) private readonly path: string,
  ) {}

  /** Fastify does not listen yet: its hooks hold for routes that were there before. */
  onModuleInit(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter?.getType() !== 'fastify') return;
    const route = `/${this.path}/${SLASH_ROUTE}`;
    const fastify = httpAdapter.getInstance<{ addHook(name: string, hook: unknown): void }>();
    fastify.addHook('onRequest', (request: FastifyRequest, _reply: unknown, done: () => void) => {
      if (request.params?.rest === '' && request.routeOptions?.url?.endsWith(route)) request.params.rest = NO_NAME;
      done();
    });
  }
}
