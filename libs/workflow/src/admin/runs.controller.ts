import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { RunSummary } from '../insights/views.js';
import { WorkflowService } from '../service/workflow.service.js';
import { adminRunOf } from '../operating/access.js';
import { AdminAccess } from './admin-access.js';
import { AdminReads } from './admin-reads.js';
import { paramOf, type PlatformRequest } from '../operating/platform-request.js';
import { Answering } from './answering.js';
import { readQuery } from './read-input.js';
import { filterOf, limitOf, PageQuery, RunListQuery } from './run-list.query.js';

/** What runs there are, and one of them. */
@Controller()
export class RunsController {
  constructor(
    @Inject(Answering) private readonly answering: Answering,
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(AdminReads) private readonly reads: AdminReads,
    @Inject(WorkflowService) private readonly workflows: WorkflowService,
  ) {}

  @Get('api/runs')
  list(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      await this.access.assertMay(request, 'read', null);
      const query = await readQuery(RunListQuery, request);
      const { runs, next_cursor } = await this.reads.runs.list(filterOf(query), limitOf(query));
      return { body: { runs: runs.map((run) => this.linked(run)), next_cursor } };
    });
  }

  @Get('api/runs/:id')
  run(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      const id = await this.readable(request);
      return { body: this.linked(await this.reads.runs.run(id)) };
    });
  }

  @Get('api/runs/:id/events')
  events(@Req() request: PlatformRequest, @Res() response: unknown): Promise<void> {
    return this.answering.answer(response, async () => {
      const id = await this.readable(request);
      const query = await readQuery(PageQuery, request);
      return { body: await this.reads.runs.events(id, limitOf(query)) };
    });
  }

  /** @throws 404, 403 */
  private async readable(request: PlatformRequest): Promise<string> {
    const id = paramOf(request, 'id');
    const run = await this.workflows.access.read(id, await this.workflows.access.reader(undefined));
    await this.access.assertMay(request, 'read', adminRunOf(run));
    return id;
  }

  private linked<Run extends RunSummary>(run: Run) {
    return { ...run, subject_url: this.access.subjectUrl(run.subject) };
  }
}
