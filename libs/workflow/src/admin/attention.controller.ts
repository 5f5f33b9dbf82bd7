import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { Answering, type Answer } from './answering.js';
import { AttentionQuery, GroupBody } from './attention.input.js';
import { readBody, readQuery } from './read-input.js';
import { refusalOf } from '../operating/refusal.js';

/** Runs that need a person, in groups; and what is done with a whole group. */
@Controller()
export class AttentionController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
  ) {}

  @Get('api/attention')
  groups(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      await this.access.assertMay(request, 'read', null);
      const query = await readQuery(AttentionQuery, request);
      return { body: await this.reads.attention.groups(query.class === undefined ? {} : { class: query.class }) };
    });
  }

  @Post('api/attention/resume')
  resume(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.press(request, response, 'resume');
  }

  @Post('api/attention/cancel')
  cancel(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.press(request, response, 'cancel');
  }

  private press(request: PlatformRequest, response: unknown, verb: 'resume' | 'cancel'): Promise<void> {
    return this.answering.answer(response, async () => {
      this.access.assertOwnSite(request);
      const body = await readBody(GroupBody, request);
      await this.access.assertMay(request, verb, null);
      const { class: workflowClass, step, stuck_reason, error_class, reason } = body;
      const group = { class: workflowClass, step, reason: stuck_reason, error_class: error_class ?? null };
      const actor = await this.access.actorOf(request);
      const by = { actor, ...(reason != null && { reason }) };
      try {
        const result = await this.reads.groups[verb](group, by);
        return { statusCode: result.ok ? 200 : 409, body: result };
      } catch (error) {
        return refused(error);
      }
    });
  }
}

/** The class is not loaded in this process, so that nobody here knows what comes next. */
function refused(error: unknown): Answer {
  const refusal = refusalOf(error);
  if (refusal?.statusCode !== 409) throw error;
  const { code, message: reason } = refusal;
  return { statusCode: 409, body: { ok: false, code, reason, done: 0, moved_on: 0, refused: 0, left: 0 } };
}
