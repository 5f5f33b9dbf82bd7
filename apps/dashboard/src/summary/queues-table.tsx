import type { QueueView } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { count } from '../parts/numbers';
import { durationText } from '../parts/rates';

/** What is due and not taken, by queue. */
export function QueuesTable({ queues }: { queues: readonly QueueView[] }) {
  return <DataTable caption="Queues" columns={COLUMNS} narrow rows={queues} idOf={({ queue }) => queue} />;
}

const COLUMNS: Columns<QueueView> = [
  { header: 'Queue', meta: { names: true }, cell: ({ row }) => row.original.queue },
  { header: 'Due now', meta: { numeric: true }, cell: ({ row }) => count(row.original.depth) },
  {
    header: 'Oldest due for',
    meta: { numeric: true },
    cell: ({ row: { original } }) => (original.depth === 0 ? '–' : durationText(original.oldest_due_seconds * 1_000)),
  },
];
