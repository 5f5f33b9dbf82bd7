import type { StuckReason, SummaryView } from '../api/types';
import { FiguresTable, type Columns } from '../parts/figures-table';
import { CountLink } from '../parts/run-count';
import { STUCK_SENTENCES } from '../parts/stuck-sentences';

interface Row {
  readonly reason: StuckReason;
  readonly runs: number;
}

/** Runs that need a person, by why. */
export function StuckTable({ counts }: { counts: SummaryView['by_reason'] }) {
  const rows = (Object.keys(STUCK_SENTENCES) as StuckReason[]).map((reason) => ({ reason, runs: counts[reason] }));
  return (
    <FiguresTable caption="Runs that need attention, by reason" columns={COLUMNS} narrow rows={rows} idOf={idOf} />
  );
}

const idOf = ({ reason }: Row) => reason;

const COLUMNS: Columns<Row> = [
  { header: 'Why', meta: { names: true }, cell: ({ row }) => STUCK_SENTENCES[row.original.reason] },
  {
    header: 'Runs',
    meta: { numeric: true },
    cell: ({ row: { original } }) => (
      <CountLink to="/runs" search={{ stuck_reason: original.reason }} count={original.runs} what="runs" />
    ),
  },
];
