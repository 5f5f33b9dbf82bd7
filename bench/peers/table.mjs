// @ts-check
import { figures } from './plan.mjs';

/**
 * @typedef {import('./plan.mjs').Figures} Figures
 * @typedef {import('./plan.mjs').FigureName} FigureName
 *
 * @typedef {object} Row
 * @property {string} title
 * @property {string} version
 * @property {Figures} medians
 * @property {Figures} ratios to ours
 */

const names = /** @type {FigureName[]} */ (Object.keys(figures));

/**
 * Figures, and beneath each its ratio to ours.
 *
 * @param {readonly Row[]} rows
 */
export function tableOf(rows) {
  const table = [['', ...names.map((name) => figures[name].title)]];
  for (const { title, version, medians, ratios } of rows) {
    table.push([`${title} ${version}`, ...names.map((name) => shown(medians[name]))]);
    if (Object.keys(ratios).length)
      table.push(['  ours = 1', ...names.map((name) => (ratios[name] === undefined ? '' : `×${round(ratios[name])}`))]);
  }
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((cells) => (cells[column] ?? '').length)));
  return table
    .map((cells) =>
      cells
        .map((cell, column) => (column ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[0] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

/**
 * Where a peer is ahead of us: nobody should have to find it in the table.
 *
 * @param {readonly Row[]} rows
 */
export function aheadOf(rows) {
  return rows.flatMap(({ title, ratios }) =>
    names
      .filter((name) => {
        const ratio = ratios[name];
        return ratio !== undefined && (figures[name].more ? ratio > 1 : ratio < 1);
      })
      .map((name) => `${title}: ${figures[name].title} (×${round(ratios[name] ?? NaN)})`),
  );
}

/** @param {number | undefined} value */
const shown = (value) => (value === undefined ? '-' : round(value));

/** @param {number} value */
function round(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3);
}
