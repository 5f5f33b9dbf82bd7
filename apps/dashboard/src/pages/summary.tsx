import { Alert, SimpleGrid, Stack } from '@mantine/core';
import { useSummary } from '../api/queries';
import type { SummaryView } from '../api/types';
import { About } from '../parts/about';
import { PageTitle } from '../parts/page-title';
import { Section } from '../parts/section';
import { Empty, Failed, Loading } from '../parts/states';
import { QueuesTable } from '../summary/queues-table';
import { RunCounts } from '../summary/run-counts';
import { StuckTable } from '../summary/stuck-table';
import { WorkersTable } from '../summary/workers-table';

/** What goes on, at a glance. */
export function SummaryPage() {
  const { data, error, refetch } = useSummary();
  return (
    <Stack gap="xl">
      <PageTitle>Summary</PageTitle>
      {error && <Failed error={error} again={refetch} />}
      {data ? <Summary of={data} /> : !error && <Loading what="the summary" />}
    </Stack>
  );
}

function Summary({ of }: { of: SummaryView }) {
  return (
    <>
      <RunCounts of={of} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" verticalSpacing="xl">
        <Section title="Needs attention">
          <StuckTable counts={of.by_reason} />
        </Section>
        <Section
          title="Queues"
          aside={<About>Steps, and members of fan-outs, that are due and not taken by a worker.</About>}
        >
          {of.queues.length === 0 ? <Empty>Nothing is due.</Empty> : <QueuesTable queues={of.queues} />}
        </Section>
      </SimpleGrid>
      <Section title="Workers">
        {of.workers.length === 0 ? (
          <Alert variant="default" title="No worker is seen">
            Nothing is executed until one starts.
          </Alert>
        ) : (
          <WorkersTable workers={of.workers} />
        )}
      </Section>
    </>
  );
}
