import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** Stands before the application's guards, so that their refusals have these headers too. It lets everybody through. */
@Injectable()
export class ResponseHeaders implements CanActivate {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  canActivate(context: ExecutionContext): boolean {
    this.setOn(context.switchToHttp().getResponse());
    return true;
  }

  setOn(response: unknown): void {
    this.host.httpAdapter.setHeader(response, 'cache-control', 'no-store');
    this.host.httpAdapter.setHeader(response, 'x-content-type-options', 'nosniff');
  }
}
