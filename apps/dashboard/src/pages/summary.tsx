import { Title } from '@mantine/core';

export function SummaryPage() {
  return (
    <Title order={1} size="h2">
      Summary
    </Title>
  );
}
