import { Title } from '@mantine/core';

export function RunPage() {
  return (
    <Title order={1} size="h2">
      Run
    </Title>
  );
}
