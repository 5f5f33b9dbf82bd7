import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { WorkflowService } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { Mailbox } from '../mail/mailbox';
import { PullRequest } from './pull-request.entity';
import { ReviewWorkflow } from './review.workflow';

/** What we need of a message on the channel. */
interface LateWait {
  readonly workflowClass: string;
  readonly workflowId: string;
  readonly action: string;
  readonly timeoutAt: Date | null;
}

/**
 * Reminds the reviewer when a review is late. The message comes to the process that applied the deadline, once it has committed, and is
 * lost if that dies just then: good enough for a reminder. Each deadline that was missed stands on the run's audit trail.
 */
@Injectable()
export class ReviewReminder implements OnModuleInit, OnModuleDestroy {
  private readonly underWay = new Set<Promise<void>>();
  private readonly logger = new Logger(ReviewReminder.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly workflows: WorkflowService,
    private readonly mailbox: Mailbox,
  ) {}

  onModuleInit(): void {
    subscribe('workflow.wait_timed_out', this.hear);
  }

  async onModuleDestroy(): Promise<void> {
    unsubscribe('workflow.wait_timed_out', this.hear);
    await Promise.all(this.underWay);
  }

  private readonly hear = (message: unknown): void => {
    const late = message as LateWait;
    if (late.workflowClass !== ReviewWorkflow.name || late.action !== 'notify') return;
    const reminder = this.remind(late)
      .catch((error: unknown) => this.logger.error(error, 'A reminder could not be sent'))
      .finally(() => this.underWay.delete(reminder));
    this.underWay.add(reminder);
  };

  private async remind({ workflowId, timeoutAt }: LateWait): Promise<void> {
    const run = await this.workflows.find(workflowId);
    const pullRequest = await this.dataSource.manager.findOneBy(PullRequest, { id: run.subject!.id });
    if (run.status !== 'waiting' || !pullRequest?.reviewer) return;
    await this.mailbox.send({
      key: `reminder:${workflowId}:${timeoutAt?.toISOString()}`,
      to: pullRequest.reviewer,
      text: `Still waiting for your review of ${pullRequest.name}: ${pullRequest.title}`,
    });
  }
}
