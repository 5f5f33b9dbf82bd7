import { PullRequest } from '../../reviews/pull-request.entity';
import { Closed, ReviewGiven } from '../../reviews/review.signals';
import { ReviewWorkflow } from '../../reviews/review.workflow';
import type { Chance } from './chance';
import { PastRun } from './past-run';
import { DAY, HOUR, MINUTE } from './time-units';

const FIRST_ID = 900_000_001;
const PEOPLE = ['octocat', 'hubot', 'monalisa', 'codertocat'];
const TITLES = ['Fix the lid of the teapot', 'Kettles whistle in tune', 'Finer sieves', 'Polish the samovar', 'Update the lock file']; // prettier-ignore

export interface PastReview {
  readonly pullRequest: Pick<PullRequest, 'id' | 'repository' | 'number' | 'title' | 'author' | 'reviewer'>;
  readonly run: PastRun;
}

/** Pull requests of the last weeks: reviewed and closed, or still waiting, some for too long. */
export class PastReviews {
  readonly all: PastReview[] = [];

  constructor(
    private readonly chance: Chance,
    private readonly like: { readonly digest: string; readonly args: string },
    private readonly today: number,
  ) {}

  tell(): readonly PastReview[] {
    for (let n = 0; n < 50; n += 1) this.closed(this.chance.between(6 * HOUR, 6 * DAY));
    for (let n = 0; n < 6; n += 1) this.reviewed(this.chance.between(5 * HOUR, 4 * DAY));
    for (let n = 0; n < 5; n += 1) this.invited(this.chance.between(HOUR, 30 * HOUR));
    for (let n = 0; n < 4; n += 1) this.forgotten(this.chance.between(10 * DAY, 20 * DAY));
    return this.all.filter(({ run }) => run.now < this.today);
  }

  private closed(ago: number): void {
    const run = this.handedIn(ago);
    const payload = { by: this.chance.of(PEOPLE), at: new Date(run.now).toISOString() };
    run.receive(this.chance.skewed(MINUTE, 2 * DAY), payload, `closed-${run.id}`, 'github:hubot');
    run.begin(this.chance.skewed(3, 300)).complete(this.chance.skewed(5, 90)).finish();
  }

  private reviewed(ago: number): void {
    this.handedIn(ago);
  }

  private forgotten(ago: number): void {
    this.invited(ago).notify();
  }

  /** Up to its wait for the end. */
  private handedIn(ago: number): PastRun {
    const run = this.invited(ago);
    const given = { action: 'submitted', reviewer: this.chance.of(PEOPLE), state: this.chance.of(['approved', 'commented']) }; // prettier-ignore
    run.receive(this.chance.skewed(5 * MINUTE, 30 * HOUR), given, `review-${run.id}`, `github:${given.reviewer}`);
    run.begin(this.chance.skewed(3, 300)).complete(6, { reviewer: given.reviewer, state: given.state });
    return run.schedule('thankAuthor').park(Closed.name, 90 * DAY);
  }

  /** Up to its wait for a review. */
  private invited(ago: number): PastRun {
    const { chance } = this;
    const author = chance.of(PEOPLE);
    const reviewer = chance.of(PEOPLE.filter((one) => one !== author));
    const id = String(FIRST_ID + this.all.length);
    const run = new PastRun({
      workflow: ReviewWorkflow.name,
      subject: { type: PullRequest.name, id },
      ...this.like,
      revision: '2026.48.1',
      worker: chance.of(['shop-1:11', 'shop-2:11']),
      actor: `github:${author}`,
      at: this.today - ago,
    });
    run.schedule('assignReviewer').begin(chance.skewed(3, 300)).complete(chance.skewed(6, 40), { reviewer });
    run.schedule('inviteReviewer').begin(chance.skewed(3, 300)).complete(chance.skewed(5, 90));
    const number = 100 + this.all.length;
    this.all.push({
      pullRequest: { id, repository: 'octo-org/shop', number, title: chance.of(TITLES), author, reviewer },
      run,
    });
    return run.schedule('review').park(ReviewGiven.name, 3 * DAY);
  }
}
