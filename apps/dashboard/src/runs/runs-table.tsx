import { Group, Stack, Text } from '@mantine/core';
import { DataTable, type Columns } from '../parts/data-table';
import { Moment } from '../parts/moment';
import { PageLink } from '../parts/page-link';
import { Status } from '../parts/status';
import { Stuck } from '../parts/stuck';
import { Subject } from '../parts/subject';
import type { SteadyRow } from './steady-rows';

const COLUMNS: Columns<SteadyRow> = [
  {
    id: 'status',
    header: 'Status',
    cell: ({ row }) => <StatusCell run={row.original} />,
    meta: { width: '8.5rem', speaksForItself: true },
  },
  { id: 'run', header: 'Run', cell: ({ row }) => <RunCell run={row.original} />, meta: { names: true } },
  {
    id: 'class',
    header: 'Class',
    cell: ({ row }) => row.original.class,
    meta: { visibleFrom: 'sm', width: '15%' },
  },
  {
    id: 'subject',
    header: 'Subject',
    cell: ({ row }) => <Subject subject={row.original.subject} url={row.original.subject_url} />,
    meta: { visibleFrom: 'sm', width: '14%' },
  },
  {
    id: 'created',
    header: 'Created',
    cell: ({ row }) => <Moment at={row.original.created_at} />,
    meta: { visibleFrom: 'sm', width: '8rem' },
  },
];

function StatusCell({ run }: { run: SteadyRow }) {
  return (
    <Group style={{ gap: '4px 8px' }}>
      <Status status={run.status} />
      {run.stuck_reason && <Stuck reason={run.stuck_reason} />}
    </Group>
  );
}

function RunCell({ run }: { run: SteadyRow }) {
  return (
    <Stack gap={2} style={{ opacity: run.hasLeft ? 0.75 : 1 }}>
      <PageLink to="/runs/$id" params={{ id: run.id }} size="sm" c="inherit">
        {run.now}
      </PageLink>
      {run.next && (
        <Text size="xs" c="dimmed">
          {run.next}
        </Text>
      )}
      {run.hasLeft && (
        <Text size="xs" c="dimmed">
          No longer in this list
        </Text>
      )}
      <Text size="xs" hiddenFrom="sm">
        {run.class} · <Subject subject={run.subject} url={run.subject_url} /> · <Moment at={run.created_at} />
      </Text>
    </Stack>
  );
}

export function RunsTable({ rows, isBusy }: { rows: readonly SteadyRow[]; isBusy: boolean }) {
  return <DataTable caption="Runs, newest first" columns={COLUMNS} rows={rows} idOf={({ id }) => id} isBusy={isBusy} />;
}
