import { useMemo } from 'react';
import type { DefinitionSummary } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { FewSamples, percentileText, type PercentileName } from '../parts/percentiles';
import { AttentionCountLink, RunCountLink } from '../parts/run-count';
import { ClassLink } from './class-link';
import { ClassNotes } from './class-notes';

type CountName = 'ongoing' | 'paused' | 'finished' | 'cancelled';
type Column = Columns<DefinitionSummary>[number];

/** All classes in numbers. */
export function ClassesTable({ classes, window }: { classes: readonly DefinitionSummary[]; window: string }) {
  const columns = useMemo<Columns<DefinitionSummary>>(
    () => [
      {
        id: 'class',
        header: 'Class',
        accessorFn: (row) => row.class,
        meta: { names: true },
        cell: ({ row }) => (
          <>
            <ClassLink name={row.original.class} window={window} />
            <ClassNotes of={row.original} />
          </>
        ),
      },
      count('ongoing', 'Ongoing'),
      count('paused', 'Paused'),
      {
        id: 'need_attention',
        header: 'Need attention',
        accessorFn: (row) => row.need_attention.count,
        meta: { numeric: true },
        cell: ({ row }) => <AttentionCountLink of={row.original.need_attention} />,
      },
      count('finished', 'Finished'),
      count('cancelled', 'Cancelled'),
      percentile('p50', 'Half took up to (p50)'),
      percentile('p95', '95% took up to (p95)'),
    ],
    [window],
  );
  return (
    <DataTable
      caption="Classes of workflows"
      columns={columns}
      rows={classes}
      idOf={({ class: name }) => name}
      sortable
      holdsOrder
    />
  );
}

function count(name: CountName, header: string): Column {
  return {
    id: name,
    header,
    accessorFn: (row) => row[name].count,
    meta: { numeric: true },
    cell: ({ row }) => <RunCountLink of={row.original[name]} what={`${name} runs of ${row.original.class}`} />,
  };
}

function percentile(name: PercentileName, header: string): Column {
  return {
    id: name,
    header,
    accessorFn: ({ end_to_end: of }) => of[`${name}_ms`] ?? undefined,
    sortUndefined: 'last',
    meta: { numeric: true },
    cell: ({ row: { original } }) => (
      <>
        {percentileText(original.end_to_end, name)}
        <FewSamples of={original.end_to_end} />
      </>
    ),
  };
}
