import { Injectable } from '@nestjs/common';
import { AlreadyRunningError, WorkflowService } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { PullRequest } from './pull-request.entity';
import type { PullRequestOpened } from './pull-request-opened.dto';
import { ReviewWorkflow } from './review.workflow';

/** What became of a delivery. */
export interface DeliveryAnswer {
  readonly outcome: 'review started' | 'delivered before' | 'under review already' | 'ignored';
  /** The run that takes care of it. */
  readonly workflow?: string;
}

@Injectable()
export class ReviewsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly workflows: WorkflowService,
  ) {}

  /**
   * Writes the pull request and starts its review, in one transaction. GitHub delivers at least once: the delivery's id is the
   * idempotency key, so the second time finds the run of the first. And a pull request has one review at a time, whoever
   * asks for it: that is what its being the run's subject means.
   */
  opened({ pull_request, repository, sender }: PullRequestOpened, delivery: string): Promise<DeliveryAnswer> {
    return this.dataSource.transaction(async (manager) => {
      const pullRequest = manager.create(PullRequest, {
        id: String(pull_request.id),
        repository: repository.full_name,
        number: pull_request.number,
        title: pull_request.title,
        author: pull_request.user.login,
      });
      await manager.upsert(PullRequest, pullRequest, ['id']);
      try {
        const run = await this.workflows.start(ReviewWorkflow, {
          subject: pullRequest,
          idempotencyKey: delivery,
          actor: `github:${sender.login}`,
          manager,
        });
        return { outcome: run.duplicateStart ? 'delivered before' : 'review started', workflow: run.id };
      } catch (error) {
        if (!(error instanceof AlreadyRunningError)) throw error;
        return { outcome: 'under review already', workflow: error.run.id };
      }
    });
  }
}
