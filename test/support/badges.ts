import {
  Inject,
  Injectable,
  Module,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';

/** Who may pass: for a guard that needs a provider of another module. */
@Injectable()
export class Badges {
  readonly valid = new Set(['let me in']);
}

@Module({ providers: [Badges], exports: [Badges] })
export class BadgesModule {}

/** What it injects is no global provider. */
@Injectable()
export class BadgeGuard implements CanActivate {
  constructor(@Inject(Badges) private readonly badges: Badges) {}

  canActivate(context: ExecutionContext): boolean {
    const { badge } = context.switchToHttp().getRequest().headers;
    if (!badge) throw new UnauthorizedException('Show your badge');
    return this.badges.valid.has(badge);
  }
}
