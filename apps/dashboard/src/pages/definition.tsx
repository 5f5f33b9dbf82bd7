import { SimpleGrid, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useDefinition } from '../api/queries';
import type { DefinitionView } from '../api/types';
import { useChosenWindow } from '../insights/chosen-window';
import { ClassFigures } from '../insights/class-figures';
import { ClassNotes } from '../insights/class-notes';
import { DurationsTable } from '../insights/durations-table';
import { FunnelTable } from '../insights/funnel-table';
import { PipelineTable } from '../insights/pipeline-table';
import { RevisionsTable } from '../insights/revisions-table';
import { Throughput } from '../insights/throughput';
import { About } from '../parts/about';
import { PageLink } from '../parts/page-link';
import { PageTitle } from '../parts/page-title';
import { Section } from '../parts/section';
import { Empty, Failed, Loading } from '../parts/states';
import { WindowPicker } from '../parts/window-picker';

/** A class: its steps, who is at them, and how its runs and attempts did. */
export function DefinitionPage() {
  const { name } = useParams({ from: '/definitions/$name' });
  const window = useChosenWindow();
  const { data, error, refetch, isPlaceholderData } = useDefinition(name, window);
  // While another window is read, the one before stands; another class's numbers never do.
  const shown = data?.class === name ? data : undefined;
  return (
    <Stack>
      <div>
        <PageLink to="/definitions" search={{ window }} size="sm">
          All classes
        </PageLink>
        <PageTitle>{name}</PageTitle>
        {shown && <ClassNotes of={shown} />}
      </div>
      <WindowPicker chosen={window} read={isPlaceholderData ? undefined : shown?.window} />
      {error && <Failed error={error} again={refetch} />}
      {shown ? (
        <Stack gap="xl" aria-busy={isPlaceholderData} style={isPlaceholderData ? { opacity: 0.5 } : undefined}>
          <ClassInNumbers of={shown} />
        </Stack>
      ) : (
        !error && <Loading what="the class" />
      )}
    </Stack>
  );
}

function ClassInNumbers({ of }: { of: DefinitionView }) {
  return (
    <>
      <ClassFigures of={of} />
      <Section
        title="Pipeline"
        aside={
          <About>
            Runs at each step now, and how its attempts that ended in the window did. A run that is paused is counted as
            that alone.
          </About>
        }
      >
        {of.pipeline.length === 0 ? <Empty>No step is known.</Empty> : <PipelineTable steps={of.pipeline} />}
      </Section>
      <Section title="Throughput">
        <Throughput of={of} />
      </Section>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" verticalSpacing="xl">
        <Section
          title="Durations"
          aside={<About>From start to finish, of the runs that finished in the window.</About>}
        >
          <DurationsTable durations={of.durations} />
        </Section>
        <Section
          title="Funnel"
          aside={<About>How far the runs got that were started in the window; each run counts once.</About>}
        >
          {of.started.count === 0 ? (
            <Empty>No run was started in the window.</Empty>
          ) : (
            <FunnelTable funnel={of.funnel} />
          )}
        </Section>
      </SimpleGrid>
      <Section
        title="Revisions"
        aside={<About>The newest five that ended an attempt in the window, newest first.</About>}
      >
        {of.revisions.length === 0 ? (
          <Empty>No attempt that ended in the window names the revision that ran it.</Empty>
        ) : (
          <RevisionsTable revisions={of.revisions} />
        )}
        <Text size="xs" c="dimmed">
          Marked is one whose failure rate is more than five points above that of the one before.
        </Text>
      </Section>
    </>
  );
}
