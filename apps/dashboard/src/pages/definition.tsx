import { Title } from '@mantine/core';

export function DefinitionPage() {
  return (
    <Title order={1} size="h2">
      Definition
    </Title>
  );
}
