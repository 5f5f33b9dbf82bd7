import { Group, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import type { RefObject } from 'react';
import type { ShownRun } from '../api/types';
import { PageLink } from '../parts/page-link';
import { Status } from '../parts/status';
import { Stuck } from '../parts/stuck';
import { Facts } from './facts';
import { Notes } from './notes';

/** What the run is and does, in words. */
export function Header({ run, heading }: { run: ShownRun; heading: RefObject<HTMLHeadingElement | null> }) {
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Title order={1} size="h2" ref={heading} tabIndex={-1}>
          {run.class}
        </Title>
        <Status status={run.status} />
        {run.stuck_reason && <Stuck reason={run.stuck_reason} />}
        <PageLink size="sm" to="/definitions/$name" params={{ name: run.class }}>
          How this class does
        </PageLink>
      </Group>
      {/* Only when it moves: the sentence below changes with every second. */}
      <VisuallyHidden aria-live="polite">
        The run is {run.status} at step {run.step}.
      </VisuallyHidden>
      <Text size="lg" style={{ textWrap: 'pretty' }}>
        {run.now}
      </Text>
      {run.next && <Text c="dimmed">{run.next}</Text>}
      <Notes run={run} />
      <Facts run={run} />
    </Stack>
  );
}
