import { Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { StuckReason } from '../api/types';

/** Why runs need a person, in the order in which it is told: as a sentence, and in a word or two beside the run's status. */
export const STUCK: Readonly<Record<StuckReason, { readonly sentence: string; readonly word: string }>> = {
  paused_error: { sentence: 'Paused by an error', word: 'by an error' },
  stalled: { sentence: 'Stalled: its worker was lost', word: 'stalled' },
  paused_manual: { sentence: 'Paused by hand', word: 'by hand' },
  overdue: { sentence: 'Due, but no worker takes it', word: 'overdue' },
  waiting_overdue: { sentence: 'Waiting for long, without a deadline', word: 'for long' },
};

export function Stuck({ reason }: { reason: StuckReason }) {
  const { word, sentence } = STUCK[reason];
  return (
    <Group
      component="span"
      gap={4}
      wrap="nowrap"
      c="var(--mantine-color-red-text)"
      title={`${sentence}: needs attention`}
    >
      <IconAlertTriangle size={14} aria-hidden />
      <Text span size="xs" fw={600}>
        {word}
      </Text>
    </Group>
  );
}
