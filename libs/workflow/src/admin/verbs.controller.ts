import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { Verb } from '../model/states.js';
import type { RunAccess } from '../service/run-access.js';
import { WorkflowService } from '../service/workflow.service.js';
import { Semaphore } from '../store/semaphore.js';
import type { ExpectingOptions } from '../transition/by.js';
import { AdminAccess, adminRunOf } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import { paramOf, type AdminRequest } from './admin-request.js';
import { Answering, type Answer } from './answering.js';
import { momentOf } from './input-rules.js';
import { readBody } from './read-input.js';
import { refusalOf } from './refusal.js';
import { RescheduleBody, ResumeAtBody, SignalBody, VerbBody } from './verb.bodies.js';

/** Whoever waits for an answer is not kept until somebody's transaction lets the run go. */
const LOCK_TIMEOUT_MS = 3_000;

/** Verbs at once: they may wait for a run that somebody holds, and each has a connection of the application's pool meanwhile. */
const AT_ONCE = 4;

/** What a verb did: words for whoever asked, and what else its answer has. */
interface Done {
  readonly reason: string;
  readonly more?: object;
}

type Perform<Body> = (
  access: RunAccess,
  id: string,
  options: ExpectingOptions,
  body: Body,
  workflow: string,
) => Promise<Done>;

/** The verbs of one run. Each answers what became of it: `{ ok, reason, run }`. */
@Controller()
export class VerbsController {
  private readonly turns = new Semaphore(AT_ONCE);

  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
    @Inject(WorkflowService) private readonly workflows: WorkflowService,
  ) {}

  @Post('api/runs/:id/pause')
  pause(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'pause', VerbBody, async (access, id, options) => {
      await access.pause(id, options);
      return { reason: 'Paused.' };
    });
  }

  @Post('api/runs/:id/resume')
  resume(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'resume', VerbBody, async (access, id, options) => {
      await access.resume(id, options);
      return { reason: 'Resumed.' };
    });
  }

  @Post('api/runs/:id/resume-at')
  resumeAt(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'resume_at', ResumeAtBody, async (access, id, options, { step }) => {
      await access.resumeAt(id, step, options);
      return { reason: `Resumed at step "${step}".` };
    });
  }

  @Post('api/runs/:id/run-now')
  runNow(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'run_now', VerbBody, async (access, id, options) => {
      await access.runNow(id, options);
      return { reason: 'Its step is due now.' };
    });
  }

  @Post('api/runs/:id/reschedule')
  reschedule(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'reschedule', RescheduleBody, async (access, id, options, body) => {
      const at = momentOf(body.at)!;
      await access.reschedule(id, at, options);
      return { reason: `Rescheduled to ${at.toISOString()}.` };
    });
  }

  @Post('api/runs/:id/skip')
  skip(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'skip', VerbBody, async (access, id, options) => {
      await access.skip(id, options);
      return { reason: 'The step it waited at was skipped.' };
    });
  }

  @Post('api/runs/:id/signal')
  signal(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'signal', SignalBody, async (access, id, options, body, workflow) => {
      const { name, payload, idempotency_key: key } = body;
      const keyed = key == null ? options : { ...options, idempotencyKey: key };
      const { signal } = await access.signal(id, access.declaredSignal(workflow, name), payload ?? {}, keyed);
      const { duplicateDelivery: duplicate } = signal;
      const reason = duplicate
        ? 'A signal with this idempotency key was sent before: nothing was stored.'
        : signal.status === 'pending'
          ? `Signal "${name}" was sent, and is kept: no step waits for it now.`
          : `Signal "${name}" was sent, and taken by the step that waited for it.`;
      return { reason, more: { signal_id: signal.id, duplicate_delivery: duplicate } };
    });
  }

  @Post('api/runs/:id/rerun')
  rerun(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'rerun', VerbBody, async (access, id, options) => {
      const again = await access.rerun(id, options);
      return { reason: `Started again as ${again.id}.`, more: { new_run_id: again.id } };
    });
  }

  @Post('api/runs/:id/cancel')
  cancel(@Req() request: AdminRequest, @Res() response: unknown): Promise<void> {
    return this.act(request, response, 'cancel', VerbBody, async (access, id, options) => {
      await access.cancel(id, options);
      return { reason: 'Cancelled.' };
    });
  }

  private act<Body extends VerbBody>(
    request: AdminRequest,
    response: unknown,
    verb: Verb,
    dto: new () => Body,
    perform: Perform<Body>,
  ): Promise<void> {
    return this.answering.answer(response, async () => {
      this.access.assertOwnSite(request);
      const body = await readBody(dto, request);
      const id = paramOf(request, 'id');
      const { access } = this.workflows;
      const run = await access.read(id, await access.reader(undefined));
      await this.access.assertMay(request, verb, adminRunOf(run));
      const options: ExpectingOptions = {
        actor: await this.access.actorOf(request),
        lockTimeout: LOCK_TIMEOUT_MS,
        ...(body.reason != null && { reason: body.reason }),
        ...(body.expected_status != null && { expectedStatus: body.expected_status }),
      };
      try {
        const { reason, more } = await this.turns.hold(() => perform(access, id, options, body, run.workflow_class));
        return { body: { ok: true, reason, ...more, run: await this.view(id) } };
      } catch (error) {
        return this.refused(error, id);
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
