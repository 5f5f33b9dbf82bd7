import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { Verb } from '../model/states.js';
import { adminRunOf } from '../operating/access.js';
import { Acting, type VerbInput, type Why } from '../operating/acting.js';
import { paramOf, type PlatformRequest } from '../operating/platform-request.js';
import { refusalOf } from '../operating/refusal.js';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import { Answering, type Answer } from './answering.js';
import { readBody } from './read-input.js';
import { RescheduleBody, ResumeAtBody, SignalBody, VerbBody } from './verb.bodies.js';

/** The verbs of one run. Each answers what became of it: `{ ok, reason, run }`. */
@Controller()
export class VerbsController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
    @Inject(Acting) private readonly acting: Acting,
  ) {}

  @Post('api/runs/:id/pause')
  pause(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'pause', VerbBody);
  }

  @Post('api/runs/:id/resume')
  resume(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'resume', VerbBody);
  }

  @Post('api/runs/:id/resume-at')
  resumeAt(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'resume_at', ResumeAtBody);
  }

  @Post('api/runs/:id/run-now')
  runNow(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'run_now', VerbBody);
  }

  @Post('api/runs/:id/reschedule')
  reschedule(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'reschedule', RescheduleBody);
  }

  @Post('api/runs/:id/skip')
  skip(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'skip', VerbBody);
  }

  @Post('api/runs/:id/signal')
  signal(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'signal', SignalBody);
  }

  @Post('api/runs/:id/rerun')
  rerun(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'rerun', VerbBody);
  }

  @Post('api/runs/:id/cancel')
  cancel(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'cancel', VerbBody);
  }

  private act<V extends Verb>(
    request: PlatformRequest,
    response: unknown,
    verb: V,
    dto: new () => VerbInput[V] & Why,
  ): Promise<void> {
    return this.answering.answer(response, async () => {
      this.access.assertOwnSite(request);
      const body = await readBody(dto, request);
      const run = await this.acting.find(paramOf(request, 'id'));
      await this.access.assertMay(request, verb, adminRunOf(run));
      const actor = await this.access.actorOf(request);
      try {
        const { reason, more } = await this.acting.perform(verb, run, body, actor);
        return { body: { ok: true, reason, ...more, run: await this.view(run.id) } };
      } catch (error) {
        return this.refused(error, run.id);
      }
    });
  }

  /** The verb was understood, but is not legal where the run is now: that is an answer, not an error. */
  private async refused(error: unknown, id: string): Promise<Answer> {
    const refusal = refusalOf(error);
    if (refusal?.statusCode !== 409) throw error;
    const run = await this.view(id);
    const reason = `${refusal.message} The run now: ${run.now}`;
    return { statusCode: 409, body: { ok: false, code: refusal.code, reason, run } };
  }

  private async view(id: string) {
    const run = await this.reads.runs.run(id);
    return { ...run, subject_url: this.access.subjectUrl(run.subject) };
  }
}
