import { Title } from '@mantine/core';

export function DefinitionsPage() {
  return (
    <Title order={1} size="h2">
      Definitions
    </Title>
  );
}
