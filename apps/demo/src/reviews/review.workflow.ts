import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { Mailbox } from '../mail/mailbox';
import { PullRequest } from './pull-request.entity';
import { Closed, ReviewSubmitted, type GivenReview } from './review.signals';
import { Reviewers } from './reviewers';

/** A pull request gets a reviewer, is reviewed, and closed. Most of its life the run waits: it is a row, and costs nothing. */
@Workflow({ subject: PullRequest })
export class ReviewWorkflow extends WorkflowOf<PullRequest, { due: Date }> {
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
    const { reviewer, name, title } = ctx.requireSubject();
    await this.mailbox.send({
      key: ctx.stepIdempotencyKey,
      to: reviewer!,
      text: `Please review ${name}: ${title}`,
    });
  }

  /** Each run has a deadline of its own. When it passes, `review-reminder.ts` hears of it, and the run waits on. */
  @Step({ waitFor: ReviewSubmitted, waitTimeout: 'due', onTimeout: 'notify' })
  review(ctx: Ctx<this, typeof ReviewSubmitted>) {
    const { reviewer, state } = ctx.receivedSignal.payload;
    ctx.output({ reviewer, state });
  }

  /** Asked when the step begins to wait, and again at each deadline: the same date once more means that one reminder is enough. */
  due({ args }: Ctx<this>): Date {
    return args.due;
  }

  @Step({ waitFor: Closed, waitTimeout: '90 days', onTimeout: 'cancel' })
  async thankAuthor(ctx: Ctx<this, typeof Closed>) {
    const { author, name } = ctx.requireSubject();
    const review = await ctx.outputOf<GivenReview>('review');
    await this.mailbox.send({
      key: ctx.stepIdempotencyKey,
      to: author,
      text: `${name} was ${review?.state} by ${review?.reviewer} and closed by ${ctx.receivedSignal.payload.by}. Thank you!`,
    });
  }
}
