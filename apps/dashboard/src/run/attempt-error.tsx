import { Code, Stack, Text } from '@mantine/core';
import type { AttemptView } from '../api/types';
import { Disclosure } from '../parts/disclosure';
import { LongText } from '../parts/long-text';

/** An attempt's error: what it says, and on demand where it was thrown and what caused it. */
export function AttemptError({ error }: { error: NonNullable<AttemptView['error']> }) {
  return (
    <Stack gap={4}>
      <Text size="sm">
        <Text span inherit fw={600} c="var(--mantine-color-red-text)">
          {error.class}
        </Text>
        : <LongText inherit>{error.message}</LongText>
      </Text>
      {error.causes.map((cause, place) => (
        <Text size="sm" key={`${place} ${cause.class}`} pl={12 * (place + 1)}>
          caused by{' '}
          <Text span inherit fw={600}>
            {cause.class}
          </Text>
          : <LongText inherit>{cause.message}</LongText>
        </Text>
      ))}
      {error.backtrace !== null && (
        <Disclosure label="Backtrace">
          <Code
            block
            tabIndex={0}
            role="region"
            aria-label="Backtrace"
            mah={320}
            style={{ overflow: 'auto', whiteSpace: 'pre-wrap' }}
          >
            {error.backtrace}
          </Code>
        </Disclosure>
      )}
    </Stack>
  );
}
