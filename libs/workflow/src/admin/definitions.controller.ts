import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { WINDOWS, type Window } from '../insights/views.js';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import { paramOf, type PlatformRequest } from '../operating/platform-request.js';
import { Answering } from './answering.js';
import { Field } from '../operating/input-field.js';
import { IsOneOf } from '../operating/input-rules.js';
import { readQuery } from './read-input.js';

/** Over which time numbers are taken. */
export class WindowQuery {
  @Field({ description: 'Over which time.', enum: WINDOWS, default: '24h' }, IsOneOf(WINDOWS))
  window?: Window;
}

/** The workflow classes in numbers. */
@Controller()
export class DefinitionsController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
  ) {}

  @Get('api/definitions')
  list(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      await this.access.assertMay(request, 'read', null);
      const { window = '24h' } = await readQuery(WindowQuery, request);
      return { body: await this.reads.definitions.definitions(window) };
    });
  }

  @Get('api/definitions/:class')
  definition(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      await this.access.assertMay(request, 'read', null);
      const { window = '24h' } = await readQuery(WindowQuery, request);
      return { body: await this.reads.definitions.definition(paramOf(request, 'class'), window) };
    });
  }
}
