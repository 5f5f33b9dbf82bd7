import { Progress, Stack, Text } from '@mantine/core';
import type { BatchView } from '../api/types';
import { count } from '../parts/numbers';

/** How far a fan-out is. */
export function BatchProgress({ batch }: { batch: BatchView }) {
  const { total, completed, failed, unfinished, description } = batch;
  const part = (of: number) => (total === 0 ? 0 : (of / total) * 100);
  const says = [
    `${count(completed)} of ${count(total)} jobs completed`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(unfinished > 0 ? [`${count(unfinished)} to go`] : []),
  ].join(', ');
  return (
    <Stack gap={4} maw={480}>
      <Text size="sm">{says}</Text>
      <Progress.Root size="lg">
        <Progress.Section value={part(completed)} color="green" aria-label="Completed" />
        <Progress.Section value={part(failed)} color="red" aria-label="Failed" />
      </Progress.Root>
      <Text size="xs" c="dimmed">
        Batch {description}
      </Text>
    </Stack>
  );
}
