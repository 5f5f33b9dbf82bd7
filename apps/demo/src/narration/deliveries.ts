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

/** What we look at of a body. */
interface Body {
  readonly action?: string;
  readonly pull_request?: { readonly id: number };
}

type Kind = (delivery: Pick<Delivery, 'event' | 'body'>) => boolean;

export const isOpened: Kind = ({ event, body }) => event === 'pull_request' && actionOf(body) === 'opened';
export const isReview: Kind = ({ event }) => event === 'pull_request_review';
export const isClosed: Kind = ({ event, body }) => event === 'pull_request' && actionOf(body) === 'closed';
/** The application does something about it. */
export const concernsUs: Kind = (delivery) => [isOpened, isReview, isClosed].some((is) => is(delivery));

export const DELIVERIES: readonly Delivery[] = webhooks
  .flatMap(({ name, examples }) => examples.map((body) => ({ id: randomUUID(), event: name, body })))
  .map((delivery, index) => ({ ...delivery, twice: concernsUs(delivery) || index % 10 === 0 }));

/** GitHub's id of the pull request that it is about. */
export function pullRequestOf({ body }: Delivery): string {
  return String((body as Body).pull_request?.id);
}

/** The pull requests that the recorded deliveries open. */
export function openedPullRequests(): Set<string> {
  return new Set(DELIVERIES.filter(isOpened).map(pullRequestOf));
}

/** A review that its reviewer handed in, of a pull request that we know. */
export function isSubmittedReview(delivery: Delivery): boolean {
  return (
    isReview(delivery) && actionOf(delivery.body) === 'submitted' && openedPullRequests().has(pullRequestOf(delivery))
  );
}

function actionOf(body: object): string | undefined {
  return (body as Body).action;
}
