import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { Answering } from './answering.js';
import { readQuery } from './read-input.js';

/** There is nothing to ask for. */
class NoQuery {}

/** How much there is of everything. */
@Controller()
export class SummaryController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
  ) {}

  @Get('api/summary')
  summary(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      await this.access.assertMay(request, 'read', null);
      await readQuery(NoQuery, request);
      return { body: await this.reads.summary.summary() };
    });
  }
}
