import { Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useParams } from '@tanstack/react-router';
import { useRef } from 'react';
import { ApiError } from '../api/client';
import { useRun } from '../api/queries';
import { JsonTree } from '../parts/json-tree';
import { Section } from '../parts/section';
import { Empty, Failed, Loading } from '../parts/states';
import { Actions } from '../run/actions/actions';
import { Attempts } from '../run/attempts';
import { Header } from '../run/header';
import { Signals } from '../run/signals';
import { Timeline } from '../run/timeline/timeline';
import { Trail } from '../run/trail';

/** One run: what it does, what it did, and what can be done with it. */
export function RunPage() {
  const { id } = useParams({ from: '/runs/$id' });
  // Another run is another page: nothing of what was opened or zoomed stays.
  return <Run key={id} id={id} />;
}

function Run({ id }: { id: string }) {
  const { data: run, error, refetch } = useRun(id);
  const heading = useRef<HTMLHeadingElement>(null);
  useDocumentTitle(run ? `${run.class}, ${run.status} · Workflows` : 'Run · Workflows');

  if (error instanceof ApiError && error.status === 404) return <Gone id={id} />;
  if (!run) return error ? <Failed error={error} again={refetch} /> : <Loading what="the run" />;
  return (
    <Stack gap="xl">
      {error && <Failed error={error} again={refetch} />}
      <Header run={run} heading={heading} />
      <Actions run={run} heading={heading} />
      <Timeline run={run} />
      <Attempts run={run} />
      <Section title="Arguments">
        {run.args === null ? (
          <Text c="dimmed">The run was started without arguments.</Text>
        ) : (
          <JsonTree value={run.args} label="Arguments" open={2} />
        )}
      </Section>
      <Signals run={run} />
      <Trail id={id} isOngoing={run.ended_at === null} />
    </Stack>
  );
}

/** It never was, or is past its retention. */
function Gone({ id }: { id: string }) {
  return (
    <Stack>
      <Title order={1} size="h2">
        There is no run {id}
      </Title>
      <Empty>It may be past the retention, after which ended runs are deleted.</Empty>
    </Stack>
  );
}
