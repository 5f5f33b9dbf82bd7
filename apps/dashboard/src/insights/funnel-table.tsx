import { useMemo } from 'react';
import type { FunnelView, RunCount } from '../api/types';
import { Bar } from '../parts/bar';
import { DataTable, type Columns } from '../parts/data-table';
import { count as numberText } from '../parts/numbers';
import { RunCountLink } from '../parts/run-count';

interface Stage {
  readonly name: string;
  /** Of how many it can be told that they came so far. */
  readonly reached: number | null;
  readonly now: RunCount | null;
  readonly what: string;
}

/** Where the runs that were started in the window have got to. */
export function FunnelTable({ funnel }: { funnel: FunnelView }) {
  const { started } = funnel;
  const columns = useMemo(() => columnsOf(started), [started]);
  return (
    <DataTable caption="How far runs got" narrow columns={columns} rows={stagesOf(funnel)} idOf={({ what }) => what} />
  );
}

function stagesOf({ steps, finished, cancelled }: FunnelView): readonly Stage[] {
  return [
    ...steps.map(({ step, reached, now }) => ({ name: step, reached, now, what: `at step ${step}` })),
    { name: 'Finished', reached: null, now: finished, what: 'finished' },
    { name: 'Cancelled', reached: null, now: cancelled, what: 'cancelled' },
  ];
}

function columnsOf(started: RunCount): Columns<Stage> {
  const parts = Math.max(1, started.count);
  return [
    { header: 'Step or end', meta: { names: true }, cell: ({ row }) => row.original.name },
    {
      header: 'Got to it',
      meta: { numeric: true },
      cell: ({ row: { original } }) => (original.reached === null ? '–' : numberText(original.reached)),
    },
    {
      header: 'There now',
      meta: { numeric: true },
      cell: ({ row: { original } }) =>
        original.now && <RunCountLink of={original.now} what={`runs ${original.what}`} />,
    },
    {
      id: 'bar',
      header: '',
      cell: ({ row: { original } }) => <Bar part={(original.reached ?? original.now?.count ?? 0) / parts} />,
    },
  ];
}
