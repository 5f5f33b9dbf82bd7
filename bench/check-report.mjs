// @ts-check
import { FIGURES } from './lines.mjs';
import { alignedTable, whereMeasured } from './report.mjs';

/** @param {Awaited<ReturnType<typeof import('./check.mjs').check>>} result */
export function printCheck({ here, there, rounds, threshold, rows, failures, passed }) {
  const digits = Object.fromEntries(Object.values(FIGURES).map((kind) => [kind.title, kind.digits]));
  const table = [
    ['', 'figure', 'here', 'there', 'here / there', 'spread', ''],
    ...rows.map(({ title, figure, judged, comparison }) => {
      const number = (/** @type {number} */ value) =>
        value.toLocaleString('en', { minimumFractionDigits: digits[figure], maximumFractionDigits: digits[figure] });
      const { ratio, spread, verdict } = comparison;
      return [
        title,
        figure,
        number(comparison.here),
        number(comparison.there),
        ratio.toFixed(2),
        `${spread[0].toFixed(2)} - ${spread[1].toFixed(2)}`,
        `${verdict === 'worse' && judged ? 'WORSE' : verdict}${judged ? '' : ' (not judged)'}`,
      ];
    }),
  ];
  const changed = here.changed.length > 0 ? ` with changes in ${here.changed.length} files` : '';
  const same = here.commit === there.commit && !changed;
  const lines = [
    ...alignedTable(table, ['', 'figure']),
    '',
    ...failures.map(({ line, side, why }) => `${line} could not be measured ${side}: ${why}`),
    `here:  ${here.commit} ${here.subject}${changed}`,
    `there: ${there.commit} ${there.subject}${same ? ' (the same: what differs is noise)' : ''}`,
    `${rounds} rounds, each side a process of its own in each, in turn; medians. ${rounds < 5 ? 'Spread: the least and the greatest ratio of a round; take five rounds to be sure.' : 'The true ratio lies within the spread nine times in ten.'}`,
    `WORSE: below ${threshold} of what it was there, and worse in the whole spread. ${passed ? 'Nothing is.' : 'Something is, or fails here: exit code 1.'}`,
    `On: ${whereMeasured()}.`,
  ];
  console.log(`\n${lines.join('\n')}`);
}
