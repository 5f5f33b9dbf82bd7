// @ts-check
import { alignedTable } from './report.mjs';

/**
 * @typedef {Awaited<ReturnType<typeof import('./table.mjs').measureTable>>} Result
 * @typedef {Result['rates'][number]} RateRow
 */

/** @param {number | undefined} value */
const whole = (value) => (value === undefined ? '-' : Math.round(value).toLocaleString('en'));
/** @param {number} ratio */
const percent = (ratio) => `${(ratio * 100).toFixed(0)} %`;

/** @param {Result} result */
export function printTable({ where, rounds, runs, rates, rest }) {
  const table = [
    ['', 'starts/s', 'steps/s', 'of plain', 'of floor', 'commits/step', 'WAL bytes/step'],
    ...rates.map(({ title, figures, toPlain, toFloor }) => [
      title,
      whole(figures.startsPerSecond),
      whole(figures.stepsPerSecond),
      percent(toPlain),
      percent(toFloor),
      figures.commitsPerStep.toFixed(3),
      whole(figures.walBytesPerStep),
    ]),
  ];
  const lines = [
    ...alignedTable(table, ['']),
    '',
    ...wanted(rates),
    ...updates(rates[0].figures),
    ...rest.map(sentence),
    '',
    `Measured: ${runs.batched} (one by one: ${runs.unbatched}) runs of five steps that do nothing, through Nest, TypeORM and one`,
    `worker; medians of ${rounds} rounds in turn. Latency: ${runs.latency} runs, one at a time.`,
    `On: ${where}, fsync on.`,
  ];
  console.log(`\n${lines.join('\n')}`);
}

/** @param {readonly RateRow[]} rates */
function wanted(rates) {
  const [plain] = rates;
  const unbatched = rates.find(({ name }) => name === 'one-by-one');
  return [
    ...(unbatched
      ? [`as it is / one by one    ${(1 / unbatched.toPlain).toFixed(1)} x      (wanted: at least 3)`]
      : []),
    `as it is / floor         ${percent(plain.toFloor)}       (wanted: at least 30)`,
  ];
}

/** @param {RateRow['figures']} plain */
function updates(plain) {
  return [
    `updates of workflows       ${whole(plain.runUpdates)}, ${percent(plain.runHotUpdates / plain.runUpdates)} HOT, ${whole(plain.runDeadRows)} dead rows left`,
    `updates of workflow_steps  ${whole(plain.stepUpdates)}, ${percent(plain.stepHotUpdates / plain.stepUpdates)} HOT, ${whole(plain.stepDeadRows)} dead rows left`,
  ];
}

/** @param {Result['rest'][number]} line */
function sentence({ title, kind, figures }) {
  const name = title.padEnd(25);
  switch (kind) {
    case 'times':
      return `${name}p50 ${figures.p50.toFixed(1)} ms, p95 ${figures.p95.toFixed(1)} ms`;
    case 'fan-out':
      return `${name}${whole(figures.membersPerSecond)} members/s, ${whole(figures.peakMegabytes)} MB above the start at its peak`;
    case 'claim':
    case 'rate':
      return `${title} takes ${figures.ratio.toFixed(2)} x one without (${figures.besideMs.toFixed(2)} / ${figures.emptyMs.toFixed(2)} ms)`;
  }
}
