import type { WorkflowRun } from 'nestjs-pg-workflows';
import { PullRequest } from '../reviews/pull-request.entity';
import type { DeliveryAnswer } from '../reviews/reviews.service';
import type { Client } from './client';
import { concernsUs, DELIVERIES, isClosed, isReview, openedPullRequests, type Delivery } from './deliveries';
import { until } from './patience';
import type { Scene } from './scene';
import { plural, say } from './voice';

export interface Answered {
  readonly delivery: Delivery;
  readonly answer: DeliveryAnswer;
}

const AT_ONCE = 4;

/** Posts what GitHub delivered: the reviews come late, after a reminder, and a pull request is closed once it is reviewed. */
export async function deliver({ client, runs, played }: Scene): Promise<Answered[]> {
  const again = DELIVERIES.filter(({ twice }) => twice).length;
  const events = new Set(DELIVERIES.map(({ event }) => event)).size;
  say('github', `delivers ${DELIVERIES.length} recorded webhooks of ${events} events, ${again} of them twice`);

  const first = await post(client, (delivery) => !isReview(delivery) && !isClosed(delivery));
  const about = plural(openedPullRequests().size, 'pull request');
  tell(first, `say that ${about} was opened`);

  const started = await runs.findBy({ ...played, subjectType: PullRequest.name });
  for (const run of started) await until(() => wasReminded(client, run));
  const reviews = await post(client, isReview);
  tell(reviews, 'are about reviews');

  for (const run of started) await until(() => waitsForItsEnd(client, run));
  const closed = await post(client, isClosed);
  tell(closed, `say that ${about} was closed`);
  return [...first, ...reviews, ...closed];
}

async function wasReminded(client: Client, run: WorkflowRun): Promise<boolean> {
  const { events } = await viewOf(client, run);
  return events.some(({ name }) => name === 'wait_timed_out');
}

async function waitsForItsEnd(client: Client, run: WorkflowRun): Promise<boolean> {
  const { status, currentStep } = await viewOf(client, run);
  return status === 'waiting' && currentStep === 'thankAuthor';
}

function viewOf(client: Client, { id }: WorkflowRun) {
  return client.get<{ status: string; currentStep: string; events: { name: string }[] }>(`/workflows/${id}`);
}

/** Long after, what started something is delivered once more. */
export async function deliverAgain(client: Client, answered: readonly Answered[]): Promise<Answered[]> {
  const late: Answered[] = [];
  for (const { delivery, answer } of answered) {
    if (answer.outcome !== 'review started') continue;
    late.push({ delivery, answer: await postOnce(client, delivery) });
    say('github', `delivers the webhook once more that started a review, and gets: "${late.at(-1)?.answer.outcome}"`);
  }
  return late;
}

/** In the order in which they were recorded, a few at a time, some twice. */
async function post(client: Client, which: (delivery: Delivery) => boolean): Promise<Answered[]> {
  const answered: Answered[] = [];
  const queue = DELIVERIES.filter(which).values();
  const postman = async () => {
    for (const delivery of queue) {
      for (let time = 0; time < (delivery.twice ? 2 : 1); time += 1) {
        answered.push({ delivery, answer: await postOnce(client, delivery) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, postman));
  return answered;
}

function postOnce(client: Client, { id, event, body }: Delivery): Promise<DeliveryAnswer> {
  return client.post('/webhooks/github', body, { 'x-github-event': event, 'x-github-delivery': id });
}

function tell(answered: readonly Answered[], what: string): void {
  const ours = answered.filter(({ delivery }) => concernsUs(delivery));
  say('github', `${answered.length} posts were accepted; ${ours.length} of them ${what}, and got:`);
  for (const [outcome, count] of countBy(ours, ({ answer }) => answer.outcome)) {
    say('github', `  ${plural(count, 'time')} "${outcome}"`);
  }
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of items.map(keyOf)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
