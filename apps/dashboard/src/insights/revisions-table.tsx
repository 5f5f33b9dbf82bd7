import { Badge, Code, Group } from '@mantine/core';
import type { RevisionView } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { Moment } from '../parts/moment';
import { attemptColumns } from './attempt-columns';

/** Revisions of the application, newest first, with what their attempts came to. */
export function RevisionsTable({ revisions }: { revisions: readonly RevisionView[] }) {
  return (
    <DataTable
      caption="Revisions of the application"
      columns={COLUMNS}
      rows={revisions}
      idOf={({ revision }) => revision}
    />
  );
}

const COLUMNS: Columns<RevisionView> = [
  {
    id: 'revision',
    header: 'Revision',
    meta: { names: true },
    cell: ({ row: { original } }) => (
      <Group gap={6}>
        <Code>{original.revision}</Code>
        {original.worse && (
          <Badge color="red" variant="outline" size="sm" tt="none">
            fails more than the one before
          </Badge>
        )}
      </Group>
    ),
  },
  { id: 'since', header: 'Since', cell: ({ row }) => <Moment at={row.original.first_ended_at} /> },
  ...attemptColumns<RevisionView>((revision) => revision),
];
