import type { AttemptStats } from '../api/types';
import type { Columns } from '../parts/data-table';
import { count } from '../parts/numbers';
import { rateText } from '../parts/rates';
import { PercentilesText } from '../parts/percentiles';

type RateName = 'failure_rate' | 'reattempt_rate' | 'skip_rate';

/**
 * Columns of what attempts came to. They lead nowhere: the run list shows runs.
 *
 * @param more what else is known of them
 */
export function attemptColumns<Row>(statsOf: (row: Row) => AttemptStats, more: Columns<Row> = []): Columns<Row> {
  const rate = (name: RateName, header: string): Columns<Row>[number] => ({
    id: name,
    header,
    meta: { numeric: true },
    cell: ({ row }) => rateText(statsOf(row.original)[name]),
  });
  return [
    {
      id: 'attempts',
      header: 'Attempts',
      meta: { numeric: true },
      cell: ({ row }) => count(statsOf(row.original).attempts),
    },
    ...more,
    { id: 'run_time', header: 'Ran for', cell: ({ row }) => <PercentilesText of={statsOf(row.original).run_time} /> },
    rate('failure_rate', 'Failed'),
    rate('reattempt_rate', 'Tried again'),
    rate('skip_rate', 'Skipped'),
  ];
}
