import type { DurationBucket } from '../api/types';
import { Bar } from '../parts/bar';
import { DataTable, type Columns } from '../parts/data-table';
import { count as numberText } from '../parts/numbers';
import { durationText } from '../parts/rates';
import { Empty } from '../parts/states';

/** How many runs took how long, from start to finish. */
export function DurationsTable({ durations }: { durations: readonly DurationBucket[] }) {
  const shown = withoutEmptyEnds(durations);
  if (shown.length === 0) return <Empty>No run finished in the window.</Empty>;
  const largest = Math.max(...shown.map(({ count }) => count));
  return (
    <DataTable
      caption="How long runs took"
      narrow
      columns={columnsOf(largest)}
      rows={shown}
      idOf={({ from_ms: from }) => String(from)}
    />
  );
}

function withoutEmptyEnds(durations: readonly DurationBucket[]): readonly DurationBucket[] {
  const some = ({ count }: DurationBucket) => count > 0;
  const first = durations.findIndex(some);
  return first === -1 ? [] : durations.slice(first, durations.findLastIndex(some) + 1);
}

function columnsOf(largest: number): Columns<DurationBucket> {
  return [
    { header: 'Took', meta: { names: true }, cell: ({ row }) => rangeText(row.original) },
    { header: 'Runs', meta: { numeric: true }, cell: ({ row }) => numberText(row.original.count) },
    { id: 'bar', header: '', cell: ({ row }) => <Bar part={row.original.count / largest} /> },
  ];
}

function rangeText({ from_ms: from, to_ms: to }: DurationBucket): string {
  if (to === null) return `${durationText(from)} or more`;
  return from === 0 ? `less than ${durationText(to)}` : `${durationText(from)} to ${durationText(to)}`;
}
