import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { paramOf, type PlatformRequest } from '../operating/platform-request.js';
import { Answering } from './answering.js';
import { Dashboard } from './dashboard.js';
import { NO_NAME, SLASH_ROUTE } from './dashboard-slash.js';
import { Refusal } from '../operating/refusal.js';

/** The dashboard's page and what it loads. */
@Controller()
export class DashboardController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(Dashboard) private readonly dashboard: Dashboard,
  ) {}

  /** `<path>`; for Express `<path>/` too. */
  @Get()
  page(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, () => this.dashboard.page(request));
  }

  @Get('assets/:file')
  asset(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, () => this.dashboard.asset(request));
  }
}

/** `<path>/` for Fastify: see {@link DashboardSlash}. */
@Controller()
export class DashboardSlashController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(Dashboard) private readonly dashboard: Dashboard,
  ) {}

  @Get(SLASH_ROUTE)
  page(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      if (paramOf(request, 'rest') === NO_NAME) return this.dashboard.page(request);
      throw new Refusal(
        404,
        'NO_SUCH_ROUTE',
        'There is no such page here: the dashboard is one page, with a # in its addresses.',
      );
    });
  }
}
