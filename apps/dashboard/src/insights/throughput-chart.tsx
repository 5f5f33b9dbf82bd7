import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import type { SeriesBucket, Window } from '../api/types';
import { absolute } from '../parts/moment-text';
import { count as numberText } from '../parts/numbers';

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

// Each at least 3:1 against a light and a dark ground, and of different lightness.
const SERIES = [
  { name: 'started', label: 'Started', color: 'blue.6' },
  { name: 'finished', label: 'Finished', color: 'teal.8' },
  { name: 'cancelled', label: 'Cancelled', color: 'gray.6' },
];

/** Where a day of the reader's begins: it is named once, however many bars it has. */
function firstOfDays(series: readonly SeriesBucket[]): string[] {
  const days = series.map(({ from }) => new Date(from).toDateString());
  return series.filter((_, place) => place > 0 && days[place] !== days[place - 1]).map(({ from }) => from);
}

/** Bars for each stretch of the window. What it shows is said in words, and stands in a table, beside it. */
export function ThroughputChart(props: { series: readonly SeriesBucket[]; window: Window; summary: string }) {
  const { series, window, summary } = props;
  const byDay = window === '7d' || window === '30d';
  return (
    <div role="img" aria-label={summary}>
      <BarChart
        h={260}
        data={series.map(({ from, started, finished, cancelled }) => ({
          from,
          started: started.count,
          finished: finished.count,
          cancelled: cancelled.count,
        }))}
        dataKey="from"
        series={SERIES}
        withLegend
        legendProps={{ itemSorter: null }}
        valueFormatter={numberText}
        xAxisProps={{
          tickFormatter: (from: string) => (byDay ? DAY : CLOCK).format(new Date(from)),
          minTickGap: 24,
          ...(byDay && { ticks: firstOfDays(series) }),
        }}
        yAxisProps={{ allowDecimals: false }}
        tooltipAnimationDuration={0}
        // Where nothing is pointed at, there is no label either.
        tooltipProps={{ labelFormatter: (from: unknown) => (typeof from === 'string' ? absolute(from) : '') }}
        barProps={{ isAnimationActive: false }}
        // A picture with a name, not something to operate: the table has the numbers.
        barChartProps={{ accessibilityLayer: false }}
      />
    </div>
  );
}
