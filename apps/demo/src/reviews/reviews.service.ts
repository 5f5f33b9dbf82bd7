import { Injectable } from '@nestjs/common';
import { AlreadyRunningError, WorkflowService, type DeliveredSignal } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import type { PullRequestClosed, PullRequestOpened, PullRequestReviewed } from './github-events.dto';
import { PullRequest } from './pull-request.entity';
import { Closed, ReviewGiven } from './review.signals';
import { ReviewWorkflow } from './review.workflow';

/** A real team would have '2 days'. */
const TIME_TO_REVIEW_MS = 2_500;

/** What became of a delivery. */
export interface DeliveryAnswer {
  readonly outcome:
    | 'review started'
    | 'under review already'
    | 'the review goes on'
    | 'kept until the review asks'
    | 'delivered before'
    | 'not under review'
    | 'ignored';
  /** The run that takes care of it. */
  readonly workflow?: string;
}

/** GitHub delivers at least once: the delivery's id is always the idempotency key, so the second time changes nothing. */
@Injectable()
export class ReviewsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly workflows: WorkflowService,
  ) {}

  /**
   * Writes the pull request and starts its review, in one transaction. A pull request has one review at a time, whoever asks for
   * it: that is what its being the run's subject means.
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
          args: { due: new Date(Date.now() + TIME_TO_REVIEW_MS) },
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

  /** GitHub knows pull requests, not our runs: the signal goes to whatever run the pull request has, if it has one. */
  async reviewed(event: PullRequestReviewed, delivery: string): Promise<DeliveryAnswer> {
    const { pull_request, review, action, sender } = event;
    const pullRequest = this.dataSource.manager.create(PullRequest, { id: String(pull_request.id) });
    const payload = { action, reviewer: review.user.login, state: review.state };
    return answerTo(
      await this.workflows.signal(ReviewWorkflow, pullRequest, ReviewGiven, payload, {
        missing: 'ignore',
        idempotencyKey: delivery,
        actor: `github:${sender.login}`,
      }),
    );
  }

  /** The row and the signal in one transaction: the run wakes once both are there. */
  closed({ pull_request, sender }: PullRequestClosed, delivery: string): Promise<DeliveryAnswer> {
    return this.dataSource.transaction(async (manager) => {
      const pullRequest = manager.create(PullRequest, { id: String(pull_request.id) });
      await manager.update(PullRequest, { id: pullRequest.id }, { closedAt: pull_request.closed_at });
      const payload = { by: sender.login, at: pull_request.closed_at };
      return answerTo(
        await this.workflows.signal(ReviewWorkflow, pullRequest, Closed, payload, {
          missing: 'ignore',
          idempotencyKey: delivery,
          actor: `github:${sender.login}`,
          manager,
        }),
      );
    });
  }
}

function answerTo(signal: DeliveredSignal | null): DeliveryAnswer {
  if (!signal) return { outcome: 'not under review' };
  const { workflowId: workflow } = signal;
  if (signal.duplicateDelivery) return { outcome: 'delivered before', workflow };
  return { outcome: signal.status === 'claimed' ? 'the review goes on' : 'kept until the review asks', workflow };
}
