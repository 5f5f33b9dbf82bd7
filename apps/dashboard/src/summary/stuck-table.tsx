import type { StuckReason, SummaryView } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { CountLink } from '../parts/run-count';
import { STUCK } from '../parts/stuck';

interface Row {
  readonly reason: StuckReason;
  readonly runs: number;
}

/** Runs that need a person, by why. */
export function StuckTable({ counts }: { counts: SummaryView['by_reason'] }) {
  const rows = (Object.keys(STUCK) as StuckReason[]).map((reason) => ({ reason, runs: counts[reason] }));
  return <DataTable caption="Runs that need attention, by reason" columns={COLUMNS} narrow rows={rows} idOf={idOf} />;
}

const idOf = ({ reason }: Row) => reason;

const COLUMNS: Columns<Row> = [
  { header: 'Why', meta: { names: true }, cell: ({ row }) => STUCK[row.original.reason].sentence },
  {
    header: 'Runs',
    meta: { numeric: true },
    cell: ({ row: { original } }) => (
      <CountLink to="/runs" search={{ stuck_reason: original.reason }} count={original.runs} what="runs" />
    ),
  },
];
