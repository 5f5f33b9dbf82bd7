import { Title } from '@mantine/core';

export function AttentionPage() {
  return (
    <Title order={1} size="h2">
      Attention
    </Title>
  );
}
