import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { Mailbox } from '../mail/mailbox';
import { PullRequest } from './pull-request.entity';
import { Reviewers } from './reviewers';

/** A pull request gets a reviewer, who is invited, and reminded after a while. */
@Workflow({ subject: PullRequest })
export class ReviewWorkflow extends WorkflowOf<PullRequest> {
  constructor(
    private readonly reviewers: Reviewers,
    private readonly mailbox: Mailbox,
  ) {
    super();
  }

  @Step({ transactional: true })
  async assignReviewer(ctx: Ctx<this>) {
    const { id, author } = ctx.requireSubject();
    const reviewer = await this.reviewers.pick(author, ctx.manager);
    await ctx.manager.update(PullRequest, { id }, { reviewer });
    ctx.output({ reviewer });
  }

  @Step()
  async inviteReviewer(ctx: Ctx<this>) {
    await this.write(ctx, 'Please review');
  }

  /** A real team would wait '2 days', and for the review: that comes with signals. */
  @Step({ wait: '3 seconds' })
  async remindReviewer(ctx: Ctx<this>) {
    await this.write(ctx, 'Still waiting for your review of');
  }

  private async write(ctx: Ctx<this>, text: string) {
    const { repository, number, title } = ctx.requireSubject();
    const assigned = await ctx.outputOf<{ reviewer: string }>('assignReviewer');
    await this.mailbox.send({
      key: ctx.stepIdempotencyKey,
      to: assigned!.reviewer,
      text: `${text} ${repository}#${number}: ${title}`,
    });
  }
}
