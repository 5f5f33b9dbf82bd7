import { Stack, Title } from '@mantine/core';
import { useId, type ReactNode } from 'react';

/** A part of a page under a heading of its own. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <Stack component="section" gap="xs" aria-labelledby={id}>
      <Title order={2} size="h4" id={id}>
        {title}
      </Title>
      {aside}
      {children}
    </Stack>
  );
}
