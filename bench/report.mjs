// @ts-check

/**
 * @param {readonly number[]} values
 * @param {number} share 0.95: the value that 95 % do not exceed
 */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/**
 * Each figure's median over the rounds.
 *
 * @param {readonly import('./measurements.mjs').Throughput[]} rounds
 * @returns {import('./measurements.mjs').Throughput}
 */
export function mediansOf(rounds) {
  const median = (/** @type {number[]} */ values) => percentile(values, 0.5);
  const starts = rounds.flatMap(({ startsPerSecond }) => startsPerSecond ?? []);
  return {
    startsPerSecond: starts.length ? median(starts) : null,
    stepsPerSecond: median(rounds.map(({ stepsPerSecond }) => stepsPerSecond)),
    commitsPerStep: median(rounds.map(({ commitsPerStep }) => commitsPerStep)),
    walBytesPerStep: median(rounds.map(({ walBytesPerStep }) => walBytesPerStep)),
  };
}

/** @param {any} result as run.mjs puts it together */
export function printTable({
  where,
  rounds,
  runs,
  batched,
  unbatched,
  floor,
  ratios,
  latency,
  wakeUp,
  fanOuts,
  parked,
}) {
  const whole = (/** @type {number | null} */ value) => (value === null ? '-' : Math.round(value).toLocaleString('en'));
  const row = (/** @type {string} */ name, /** @type {any} */ figures) => [
    name,
    whole(figures.startsPerSecond),
    whole(figures.stepsPerSecond),
    figures.commitsPerStep.toFixed(3),
    whole(figures.walBytesPerStep),
  ];
  const table = [
    ['', 'starts/s', 'steps/s', 'commits/step', 'WAL bytes/step'],
    row('as it is', batched),
    row('one by one: no sets, not in place', unbatched),
    row('floor: the same rows by hand', floor),
  ];
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  const line = (/** @type {string[]} */ cells) =>
    cells.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join('  ');
  const lines = [
    ...table.map(line),
    '',
    `as it is / one by one    ${ratios.batchedToUnbatched.toFixed(1)} x      (wanted: at least 3)`,
    `as it is / floor         ${(ratios.batchedToFloor * 100).toFixed(0)} %       (wanted: at least 15)`,
    `start to finish, 3 steps p50 ${latency.p50.toFixed(1)} ms, p95 ${latency.p95.toFixed(1)} ms`,
    `signal to next step      p50 ${wakeUp.p50.toFixed(1)} ms, p95 ${wakeUp.p95.toFixed(1)} ms, beside 200 parked runs`,
    ...fanOuts.map(
      (/** @type {any} */ { members, membersPerSecond, peakMegabytes }) =>
        `fan-out of ${whole(members).padStart(7)}       ${whole(membersPerSecond)} members/s, ${whole(peakMegabytes)} MB above the start at its peak`,
    ),
    `a claim beside ${whole(parked.parked)} parked runs takes ${parked.ratio.toFixed(2)} x one without (${parked.besideMs.toFixed(2)} / ${parked.emptyMs.toFixed(2)} ms)`,
    '',
    `Measured: ${runs.batched} (one by one: ${runs.unbatched}) runs of five steps that do nothing, through Nest, TypeORM and one`,
    `worker; medians of ${rounds} rounds in turn. Latency: ${runs.latency} runs, one at a time.`,
    `On: ${where}, fsync on.`,
  ];
  console.log(`\n${lines.join('\n')}`);
}
