import { Paper, SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Numbers, in columns of one width. */
export function Figures({ children }: { children: ReactNode }) {
  return (
    <SimpleGrid component="dl" m={0} spacing="sm" minColWidth="7.5rem" autoFlow="auto-fit">
      {children}
    </SimpleGrid>
  );
}

/** A number that stands by itself, below its name. */
export function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Paper withBorder px="sm" py="xs" component="div">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" m={0} size="xl" fw={600} lh={1.3}>
        {children}
      </Text>
    </Paper>
  );
}
