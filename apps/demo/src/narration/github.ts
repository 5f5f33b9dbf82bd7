import type { DeliveryAnswer } from '../reviews/reviews.service';
import type { Client } from './client';
import { DELIVERIES, isOpenedPullRequest, openedPullRequests, type Delivery } from './deliveries';
import { plural, say } from './voice';

export interface Answered {
  readonly delivery: Delivery;
  readonly answer: DeliveryAnswer;
}

const AT_ONCE = 4;

/** Posts what GitHub delivered, a few at a time as it does. */
export async function deliver(client: Client): Promise<Answered[]> {
  const again = DELIVERIES.filter(({ twice }) => twice).length;
  const events = new Set(DELIVERIES.map(({ event }) => event)).size;
  say('github', `delivers ${DELIVERIES.length} recorded webhooks of ${events} events, ${again} of them twice`);

  const answered: Answered[] = [];
  const queue = DELIVERIES.values();
  const postman = async () => {
    for (const delivery of queue) {
      for (let time = 0; time < (delivery.twice ? 2 : 1); time += 1) {
        answered.push({ delivery, answer: await post(client, delivery) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, postman));

  const opened = answered.filter(({ delivery }) => isOpenedPullRequest(delivery));
  const about = plural(openedPullRequests().size, 'pull request');
  say(
    'github',
    `${answered.length} posts were accepted; ${opened.length} of them say that ${about} was opened, and got:`,
  );
  for (const [outcome, count] of countBy(opened, ({ answer }) => answer.outcome)) {
    say('github', `  ${plural(count, 'time')} "${outcome}"`);
  }
  return answered;
}

/** Long after, what started something is delivered once more. */
export async function deliverAgain(client: Client, answered: readonly Answered[]): Promise<Answered[]> {
  const late: Answered[] = [];
  for (const { delivery, answer } of answered) {
    if (answer.outcome !== 'review started') continue;
    late.push({ delivery, answer: await post(client, delivery) });
    say('github', `delivers the webhook once more that started a review, and gets: "${late.at(-1)?.answer.outcome}"`);
  }
  return late;
}

function post(client: Client, { id, event, body }: Delivery): Promise<DeliveryAnswer> {
  return client.post('/webhooks/github', body, { 'x-github-event': event, 'x-github-delivery': id });
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of items.map(keyOf)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
