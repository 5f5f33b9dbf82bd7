import { Badge } from '@mantine/core';
import type { StuckReason } from '../api/types';

/** Why a run needs a person, in a few words. */
export const STUCK_WORDS: Readonly<Record<StuckReason, string>> = {
  paused_error: 'paused by an error',
  stalled: 'stalled',
  paused_manual: 'paused by hand',
  overdue: 'overdue',
  waiting_overdue: 'waiting for long',
};

export function Stuck({ reason }: { reason: StuckReason }) {
  return (
    <Badge color="red" variant="outline" tt="none" title="Needs attention">
      {STUCK_WORDS[reason]}
    </Badge>
  );
}
