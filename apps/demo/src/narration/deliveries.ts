import { randomUUID } from 'node:crypto';
import webhooks from '@octokit/webhooks-examples';

/** A webhook delivery as GitHub sent it once; the package recorded the body. */
export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly body: object;
  /** Sent again with the same id, as GitHub does when it is not sure that we heard. */
  readonly twice: boolean;
}

interface Opened {
  readonly action?: string;
  readonly pull_request?: { readonly id: number };
}

export const DELIVERIES: readonly Delivery[] = webhooks
  .flatMap(({ name, examples }) => examples.map((body) => ({ id: randomUUID(), event: name, body })))
  .map((delivery, index) => ({ ...delivery, twice: isOpenedPullRequest(delivery) || index % 10 === 0 }));

export function isOpenedPullRequest({ event, body }: Pick<Delivery, 'event' | 'body'>): boolean {
  return event === 'pull_request' && (body as Opened).action === 'opened';
}

/** The pull requests that the recorded deliveries open, by GitHub's id. */
export function openedPullRequests(): Set<string> {
  return new Set(DELIVERIES.filter(isOpenedPullRequest).map(({ body }) => String((body as Opened).pull_request!.id)));
}
