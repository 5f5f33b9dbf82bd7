import type { StuckReason } from '../api/types';

/** Why runs need a person, in words, in the order in which they are told. */
export const STUCK_SENTENCES: Readonly<Record<StuckReason, string>> = {
  paused_error: 'Paused by an error',
  stalled: 'Stalled: its worker was lost',
  paused_manual: 'Paused by hand',
  overdue: 'Due, but no worker takes it',
  waiting_overdue: 'Waiting for long, without a deadline',
};
