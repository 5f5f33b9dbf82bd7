import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** What operators know. Without `DEMO_ADMIN_TOKEN` it is new for each start, and printed. */
export const operatorsToken = process.env.DEMO_ADMIN_TOKEN || randomBytes(12).toString('hex');

/** A request with the name of whoever sent it. */
export interface OperatorsRequest extends IncomingMessage {
  operator?: string;
}

/**
 * Lets operators in: by `authorization: Bearer <token>` and their name in `x-operator`, or as a browser asks for it, by any name and the token as
 * password. A real application has accounts; what it does here is the same: it says who somebody is, or refuses.
 */
@Injectable()
export class OperatorsGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<OperatorsRequest>();
    const { name, token } = credentialsOf(request);
    if (!isToken(token)) {
      http.getResponse<ServerResponse>().setHeader('www-authenticate', 'Basic realm="workflows", charset="UTF-8"');
      throw new UnauthorizedException('Operators only: send the token that the demo prints at its start.');
    }
    request.operator = name;
    return true;
  }
}

function credentialsOf({ headers }: OperatorsRequest): { name: string; token: string } {
  const [scheme, value = ''] = (headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer') return { name: String(headers['x-operator'] ?? ''), token: value };
  if (scheme.toLowerCase() !== 'basic') return { name: '', token: '' };
  const [name, ...token] = Buffer.from(value, 'base64').toString().split(':');
  return { name, token: token.join(':') };
}

function isToken(given: string): boolean {
  const [known, asked] = [Buffer.from(operatorsToken), Buffer.from(given)];
  return known.length === asked.length && timingSafeEqual(known, asked);
}
