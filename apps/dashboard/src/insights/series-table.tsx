import type { SeriesBucket } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { absolute } from '../parts/moment-text';
import { RunCountLink } from '../parts/run-count';

type Name = 'started' | 'finished' | 'cancelled';

/** Starts and ends, newest first. */
export function SeriesTable({ series }: { series: readonly SeriesBucket[] }) {
  return (
    <DataTable
      caption="Runs started, finished and cancelled"
      columns={COLUMNS}
      rows={series.toReversed()}
      idOf={({ from }) => from}
    />
  );
}

function count(name: Name, header: string): Columns<SeriesBucket>[number] {
  return {
    id: name,
    header,
    meta: { numeric: true },
    cell: ({ row }) => (
      <RunCountLink of={row.original[name]} what={`runs ${name} from ${absolute(row.original.from)}`} />
    ),
  };
}

const COLUMNS: Columns<SeriesBucket> = [
  {
    id: 'from',
    header: 'From',
    meta: { names: true },
    cell: ({ row }) => <time dateTime={row.original.from}>{absolute(row.original.from)}</time>,
  },
  count('started', 'Started'),
  count('finished', 'Finished'),
  count('cancelled', 'Cancelled'),
];
