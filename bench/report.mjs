// @ts-check
import os from 'node:os';

/**
 * @param {readonly number[]} values
 * @param {number} share 0.95: the value that 95 % do not exceed
 */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/**
 * Each figure's median over the rounds.
 *
 * @param {readonly import('./measurements.mjs').Figures[]} rounds
 * @returns {import('./measurements.mjs').Figures}
 */
export function mediansOf(rounds) {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((figures) => figures[name]))]));
}

/** @param {string} [postgres] its version */
export function whereMeasured(postgres) {
  const parts = [
    `Node ${process.version.slice(1)}`,
    `${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`,
  ];
  return [...(postgres ? [`PostgreSQL ${postgres}`] : []), ...parts].join(', ');
}

/**
 * @param {readonly string[][]} table the first row is the headings
 * @param {readonly string[]} texts headings of columns that are no figures: they stand to the left
 */
export function alignedTable(table, texts) {
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  const toTheLeft = table[0].map((heading) => texts.includes(heading));
  return table.map((cells) =>
    cells
      .map((cell, column) => (toTheLeft[column] ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}
