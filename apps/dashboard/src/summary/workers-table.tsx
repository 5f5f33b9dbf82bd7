import { List, Text } from '@mantine/core';
import type { WorkerView } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { Moment } from '../parts/moment';
import { PageLink } from '../parts/page-link';
import { counted, count } from '../parts/numbers';

/** The processes that execute steps, and what each has in hand. */
export function WorkersTable({ workers }: { workers: readonly WorkerView[] }) {
  return <DataTable caption="Workers" columns={COLUMNS} rows={workers} idOf={({ id, name }) => `${name} ${id}`} />;
}

const COLUMNS: Columns<WorkerView> = [
  {
    header: 'Worker',
    meta: { names: true },
    cell: ({ row: { original } }) => (
      <>
        {original.name}
        <Text size="xs" c="dimmed" fw={400}>
          {original.id}
        </Text>
      </>
    ),
  },
  { header: 'Up since', cell: ({ row }) => <Moment at={row.original.started_at} /> },
  { header: 'In progress', meta: { numeric: true }, cell: ({ row }) => count(row.original.in_progress) },
  { header: 'Runs', cell: ({ row }) => <InHand of={row.original} /> },
];

function InHand({ of }: { of: WorkerView }) {
  if (of.runs.length === 0) return 'nothing just now';
  const more = of.in_progress - of.runs.length;
  return (
    <List size="sm" listStyleType="none">
      {of.runs.map((run, place) => (
        // A batch's members are several of one run.
        <List.Item key={`${run.workflow_id} ${run.step} ${run.attempt} ${run.started_at} ${place}`}>
          <PageLink to="/runs/$id" params={{ id: run.workflow_id }} inherit underline="always">
            {run.class}
          </PageLink>{' '}
          step {run.step}
          {run.attempt > 1 && `, attempt ${count(run.attempt)}`}, since <Moment at={run.started_at} />
        </List.Item>
      ))}
      {more > 0 && <List.Item>and {counted(more, 'more that began later', 'more that began later')}</List.Item>}
    </List>
  );
}
