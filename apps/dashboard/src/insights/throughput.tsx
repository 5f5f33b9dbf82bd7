import { Skeleton, Text } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { DefinitionView } from '../api/types';
import { counted } from '../parts/numbers';
import { absolute } from '../parts/moment-text';
import { SeriesTable } from './series-table';

// The library that draws charts is large, and this is all that needs it.
const ThroughputChart = lazy(() =>
  import('./throughput-chart').then(({ ThroughputChart: chart }) => ({ default: chart })),
);

/** How many runs were started, finished and cancelled, and when: in words, as a picture, and as a table. */
export function Throughput({ of }: { of: DefinitionView }) {
  const [open, setOpen] = useState(false);
  const summary = summaryOf(of);
  return (
    <>
      <Text size="sm">{summary}</Text>
      <Suspense fallback={<Skeleton h={260} />}>
        <ThroughputChart series={of.series} window={of.window.window} summary={summary} />
      </Suspense>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>The same as a table</summary>
        {open && <SeriesTable series={of.series} />}
      </details>
    </>
  );
}

function summaryOf({ started, finished, cancelled, series }: DefinitionView): string {
  const totals = `${counted(started.count, 'run was', 'runs were')} started, ${counted(finished.count, 'run')} finished, ${counted(cancelled.count, 'run was', 'runs were')} cancelled.`;
  const busiest = series.reduce((one, other) => (other.started.count > one.started.count ? other : one), series[0]!);
  if (started.count === 0) return totals;
  return `${totals} Most starts, ${counted(busiest.started.count, 'run')}, were from ${absolute(busiest.from)} to ${absolute(busiest.to)}.`;
}
