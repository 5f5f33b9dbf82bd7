import { Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** A number that stands by itself, below its name. */
export function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Paper withBorder p="sm" miw={120} component="div">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" m={0} size="xl" fw={600} lh={1.3}>
        {children}
      </Text>
    </Paper>
  );
}
