import { timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { PlatformRequest } from '../operating/platform-request.js';
import { rpcError } from './json-rpc.js';
import { hashOf, McpSettings } from './mcp.options.js';

/** Lets in who sends the token, where the module has one. */
@Injectable()
export class McpTokenGuard implements CanActivate {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(McpSettings) private readonly settings: McpSettings,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { tokenHash } = this.settings;
    if (tokenHash === null) return true;
    const http = context.switchToHttp();
    const given = bearerOf(http.getRequest<PlatformRequest>());
    // Hashes are of one length, whatever was sent.
    if (given !== null && timingSafeEqual(hashOf(given), tokenHash)) return true;
    const challenge = `Bearer realm="workflows"${given === null ? '' : ', error="invalid_token"'}`;
    this.host.httpAdapter.setHeader(http.getResponse(), 'www-authenticate', challenge);
    const problem = given === null ? 'Send "Authorization: Bearer <token>".' : 'The token is not the right one.';
    throw new UnauthorizedException(rpcError('REFUSED', problem));
  }
}

function bearerOf({ headers: { authorization } }: PlatformRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(typeof authorization === 'string' ? authorization : '')?.[1] ?? null;
}
