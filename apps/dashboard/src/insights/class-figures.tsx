import { Group, Stack, Text } from '@mantine/core';
import { useId, type ReactNode } from 'react';
import type { DefinitionView } from '../api/types';
import { Figure, Figures } from '../parts/figure';
import { FewSamples, percentileText } from '../parts/percentiles';
import { AttentionCountLink, RunCountLink } from '../parts/run-count';

/** A class in numbers: its runs now, and those of the window. */
export function ClassFigures({ of }: { of: DefinitionView }) {
  const { end_to_end: took } = of;
  return (
    <Group align="start" style={{ gap: 'var(--mantine-spacing-md) var(--mantine-spacing-xl)' }}>
      <Block name="Now" flex="3 1 18rem">
        <Figure name="Ongoing">
          <RunCountLink of={of.ongoing} what="ongoing runs" />
        </Figure>
        <Figure name="Paused">
          <RunCountLink of={of.paused} what="paused runs" />
        </Figure>
        <Figure name="Need attention">
          <AttentionCountLink of={of.need_attention} />
        </Figure>
      </Block>
      <Block name="In the window" flex="6 1 38rem">
        <Figure name="Started">
          <RunCountLink of={of.started} what="runs started" />
        </Figure>
        <Figure name="Finished">
          <RunCountLink of={of.finished} what="runs finished" />
        </Figure>
        <Figure name="Cancelled">
          <RunCountLink of={of.cancelled} what="runs cancelled" />
        </Figure>
        {(['p50', 'p95', 'p99'] as const).map((name) => (
          <Figure key={name} name={`Took, ${name}`}>
            {percentileText(took, name)}
            {name === 'p50' && <FewSamples of={took} />}
          </Figure>
        ))}
      </Block>
    </Group>
  );
}

function Block({ name, flex, children }: { name: string; flex: string; children: ReactNode }) {
  const id = useId();
  return (
    <Stack gap={4} role="group" aria-labelledby={id} style={{ flex }}>
      <Text id={id} size="sm" c="dimmed">
        {name}
      </Text>
      <Figures>{children}</Figures>
    </Stack>
  );
}
