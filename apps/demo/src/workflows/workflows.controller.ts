import { Controller, Get, NotFoundException, Param, ParseUUIDPipe } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { WorkflowNotFoundError, WorkflowRun, WorkflowService } from 'nestjs-pg-workflows';
import { Repository } from 'typeorm';
import { viewOf } from './workflow.view';

/** The tables of the package are entities too: lists and counts are queries like any other. */
@Controller('workflows')
export class WorkflowsController {
  constructor(
    private readonly workflows: WorkflowService,
    @InjectRepository(WorkflowRun) private readonly runs: Repository<WorkflowRun>,
  ) {}

  @Get()
  async newest() {
    const runs = await this.runs.find({ order: { createdAt: 'desc', id: 'desc' }, take: 100 });
    return runs.map(({ id, workflowClass, subjectType, subjectId, status, currentStep, createdAt, endedAt }) => ({
      id,
      workflow: workflowClass,
      subject: subjectType && { type: subjectType, id: subjectId },
      status,
      currentStep,
      createdAt,
      endedAt,
    }));
  }

  @Get(':id')
  async one(@Param('id', ParseUUIDPipe) id: string) {
    try {
      return await viewOf(await this.workflows.find(id));
    } catch (error) {
      throw error instanceof WorkflowNotFoundError ? new NotFoundException(error.message) : error;
    }
  }
}
