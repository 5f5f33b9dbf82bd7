import { Group, SegmentedControl, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { WindowView } from '../api/types';
import { absolute } from './moment-text';

const WINDOWS = [
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
];

/** Which stretch of time is looked at: chosen here, kept in the address. */
export function WindowPicker({ chosen, read }: { chosen: string; read: WindowView | undefined }) {
  const navigate = useNavigate();
  return (
    <Group gap="sm">
      <SegmentedControl
        aria-label="Window"
        data={WINDOWS}
        value={chosen}
        onChange={(window) => void navigate({ to: '.', search: { window } })}
      />
      {read && (
        <Text size="sm" c="dimmed">
          {absolute(read.from)} to {absolute(read.to)}.
          {read.capped && ' It is shorter than its name: what ended before that is no longer kept.'}
        </Text>
      )}
    </Group>
  );
}
