import { Text } from '@mantine/core';

/** A sentence on what stands below. */
export function About({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}
