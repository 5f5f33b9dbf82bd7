import { WorkflowService, WorkflowSignal, type WorkflowRun } from 'nestjs-pg-workflows';
import { DataSource, In, Not } from 'typeorm';
import { Mailbox } from '../../mail/mailbox';
import { PullRequest } from '../../reviews/pull-request.entity';
import type { DeliveryAnswer } from '../../reviews/reviews.service';
import {
  concernsUs,
  DELIVERIES,
  isClosed,
  isOpened,
  isReview,
  isSubmittedReview,
  openedPullRequests,
  type Delivery,
} from '../deliveries';
import type { Answered } from '../github';
import type { Scene } from '../scene';
import { same, type Check } from './check';

/** The answers to what became a signal: it woke the run, or it was kept. */
const TAKEN: readonly DeliveryAnswer['outcome'][] = ['the review goes on', 'kept until the review asks'];

/** What has to be true of the reviews, by the recorded deliveries. */
export async function expectReviews(
  { app, runs, played, knownPullRequests }: Scene,
  answered: readonly Answered[],
  late: readonly Answered[],
): Promise<Check[]> {
  const posts = DELIVERIES.reduce((sum, { twice }) => sum + (twice ? 2 : 1), 0);
  const opened = answered.filter(({ delivery }) => isOpened(delivery));
  const ours = answered.filter(({ delivery }) => concernsUs(delivery));
  const ignored = answered.filter(({ answer }) => answer.outcome === 'ignored');
  const started = opened.filter(({ answer }) => answer.outcome === 'review started');
  const reviews = await runs.findBy({ ...played, subjectType: PullRequest.name });
  const rows = await app.get(DataSource).manager.findBy(PullRequest, { id: Not(In(knownPullRequests)) });
  const mails = app
    .get(Mailbox, { strict: false })
    .sent.filter(({ key }) => reviews.some(({ id }) => key.includes(id)));

  return [
    same(`all ${posts} posts were accepted`, answered.length, posts),
    same('what does not concern us was ignored', ignored.length, posts - ours.length),
    same('every opened pull request has its row', sorted(rows.map(({ id }) => id)), sorted(openedPullRequests())),
    same(
      'every opened pull request was reviewed',
      sorted(new Set(reviews.map(({ subjectId }) => subjectId))),
      sorted(openedPullRequests()),
    ),
    same(
      'a review was started when the answer said so, and at no other time',
      sorted(reviews.map(({ id }) => id)),
      sorted(started.map(({ answer }) => answer.workflow)),
    ),
    same(
      'what started a review was answered with that review when it was delivered again, at once and long after',
      started.map(({ delivery }) => answersTo(delivery, [...answered, ...late])),
      started.map(({ answer: { workflow } }) => [
        { outcome: 'review started', workflow },
        { outcome: 'delivered before', workflow },
        { outcome: 'delivered before', workflow },
      ]),
    ),
    same('every review finished', reviews.filter(({ status }) => status !== 'finished').length, 0),
    same(
      'every reviewer was invited and reminded, every author thanked, once each',
      sorted(mails.map(({ key }) => /^reminder|\w+$/.exec(key)?.[0])),
      sorted(reviews.flatMap(() => ['inviteReviewer', 'reminder', 'thankAuthor'])),
    ),
    same(
      'the reminder came before the review, and that before the end',
      await Promise.all(reviews.map((review) => courseOf(app, review))),
      reviews.map(() => ['wait_timed_out', 'review', 'thankAuthor']),
    ),
    ...(await signalsWereKept(app, reviews, answered)),
  ];
}

/** The deadlines of its waits, and the steps that took a signal, in order. */
async function courseOf(app: Scene['app'], { id }: WorkflowRun): Promise<(string | null)[]> {
  const events = await (await app.get(WorkflowService).find(id)).events();
  return events
    .filter(({ name }) => name === 'wait_timed_out' || name === 'signal_claimed')
    .map(({ name, stepName }) => (name === 'signal_claimed' ? stepName : name));
}

async function signalsWereKept(
  app: Scene['app'],
  reviews: readonly WorkflowRun[],
  answered: readonly Answered[],
): Promise<Check[]> {
  const workflowId = In(reviews.map(({ id }) => id));
  const signals = await app.get(DataSource).manager.findBy(WorkflowSignal, { workflowId });
  const taken = answered.filter(({ answer }) => TAKEN.includes(answer.outcome));
  const submitted = DELIVERIES.filter(isSubmittedReview);
  const outcomes = (delivery: Delivery) => answersTo(delivery, answered).map(({ outcome }) => outcome);
  const strangers = DELIVERIES.filter((delivery) => isReview(delivery) && !submitted.includes(delivery));
  return [
    same(
      'a delivery is a signal of a review when the answer said so, once however often it came',
      sorted(signals.map(({ idempotencyKey }) => idempotencyKey)),
      sorted(taken.map(({ delivery }) => delivery.id)),
    ),
    same(
      `of ${submitted.length} submitted reviews the first woke the run, the others were kept`,
      sorted(submitted.map(outcomes)),
      sorted(submitted.map((_, index) => [TAKEN[index ? 1 : 0], 'delivered before'])),
    ),
    same(
      'a review of what is not under review was let go',
      strangers.map(outcomes),
      strangers.map(() => ['not under review', 'not under review']),
    ),
    same(
      'of the deliveries that it was closed, one woke the run',
      taken.filter(({ delivery, answer }) => isClosed(delivery) && answer.outcome === TAKEN[0]).length,
      reviews.length,
    ),
  ];
}

/** Without those from before it started anything. */
function answersTo({ id }: Delivery, answered: readonly Answered[]): DeliveryAnswer[] {
  const answers = answered.filter(({ delivery }) => delivery.id === id).map(({ answer }) => answer);
  return answers.filter(({ outcome }) => outcome !== 'under review already');
}

function sorted(values: Iterable<unknown>): string[] {
  return [...values].map(String).toSorted();
}
