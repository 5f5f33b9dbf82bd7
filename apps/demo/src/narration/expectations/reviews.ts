import { DataSource } from 'typeorm';
import { Mailbox } from '../../mail/mailbox';
import { PullRequest } from '../../reviews/pull-request.entity';
import type { DeliveryAnswer } from '../../reviews/reviews.service';
import { DELIVERIES, isOpenedPullRequest, openedPullRequests, type Delivery } from '../deliveries';
import type { Answered } from '../github';
import type { Scene } from '../scene';
import { same, type Check } from './check';

/** What has to be true of the reviews, by the recorded deliveries. */
export async function expectReviews(
  { app, runs }: Scene,
  answered: readonly Answered[],
  late: readonly Answered[],
): Promise<Check[]> {
  const posts = DELIVERIES.reduce((sum, { twice }) => sum + (twice ? 2 : 1), 0);
  const opened = answered.filter(({ delivery }) => isOpenedPullRequest(delivery));
  const ignored = answered.filter(({ answer }) => answer.outcome === 'ignored');
  const started = opened.filter(({ answer }) => answer.outcome === 'review started');
  const reviews = await runs.findBy({ subjectType: PullRequest.name });
  const rows = await app.get(DataSource).manager.find(PullRequest);
  const mails = app
    .get(Mailbox, { strict: false })
    .sent.filter(({ key }) => reviews.some(({ id }) => key.includes(id)));
  const sorted = (values: Iterable<unknown>) => [...values].map(String).toSorted();

  return [
    same(`all ${posts} posts were accepted`, answered.length, posts),
    same('only the opened pull requests concern us yet', ignored.length, posts - opened.length),
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
    same('every reviewer was invited and reminded, once each', mails.length, 2 * reviews.length),
  ];
}

/** Without those from before it started anything. */
function answersTo({ id }: Delivery, answered: readonly Answered[]): DeliveryAnswer[] {
  const answers = answered.filter(({ delivery }) => delivery.id === id).map(({ answer }) => answer);
  return answers.filter(({ outcome }) => outcome !== 'under review already');
}
