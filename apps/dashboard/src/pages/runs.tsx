import { Title } from '@mantine/core';

export function RunsPage() {
  return (
    <Title order={1} size="h2">
      Runs
    </Title>
  );
}
