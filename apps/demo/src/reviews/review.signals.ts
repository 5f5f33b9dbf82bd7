import { defineSignal, matcher } from 'nestjs-pg-workflows';

export interface GivenReview {
  /** `submitted`, `edited`, `dismissed`. */
  readonly action: string;
  readonly reviewer: string;
  /** `approved`, `commented`, `changes_requested`. */
  readonly state: string;
}

/** Somebody did something with a review. */
export const ReviewGiven = defineSignal<GivenReview>('pull_request_review');

/** What a review waits for: one that is edited or dismissed does not wake it. */
export const ReviewSubmitted = matcher(ReviewGiven.name, ({ action }: GivenReview) => action === 'submitted');

export const Closed = defineSignal<{ readonly by: string; readonly at: Date }>('pull_request.closed');
