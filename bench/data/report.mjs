// @ts-check
import { ratioOf } from './measure.mjs';

/**
 * @typedef {import('./measure.mjs').Measured} Measured
 * @typedef {{ name: string, rows: number, tableBytes: number, indexes: { name: string, bytes: number }[] }} TableSize
 */

/**
 * @param {import('pg').Client} client
 * @returns {Promise<TableSize[]>}
 */
export async function sizesOf(client) {
  const { rows } = await client.query(
    `select c.relname as name, c.reltuples::float8 as rows, pg_table_size(c.oid)::float8 as "tableBytes",
            (select json_agg(json_build_object('name', i.relname, 'bytes', pg_relation_size(i.oid)) order by pg_relation_size(i.oid) desc)
             from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid) as indexes
     from pg_class c where c.relname = any(array['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals'])
       and c.relnamespace = current_schema::regnamespace order by 3 desc`,
  );
  return rows;
}

/**
 * @param {string} title
 * @param {readonly string[]} sides
 * @param {readonly Measured[]} measured
 */
export function printMeasured(title, sides, measured) {
  const table = [
    [title, ...sides.map((side) => `${side}, ms`), 'ratio', 'lower quartiles', ''],
    ...measured.map((one) => [
      one.name,
      ...one.medians.map((ms) => ms.toFixed(2)),
      ratioOf(one.medians).toFixed(2),
      ratioOf(one.quartiles).toFixed(2),
      isOver(one) ? `over ${one.limit}` : '',
    ]),
  ];
  print(table);
}

/** @param {readonly TableSize[]} sizes */
export function printSizes(sizes) {
  const mebibytes = (/** @type {number} */ bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  print([
    ['table', 'rows', 'size'],
    ...sizes.flatMap(({ name, rows, tableBytes, indexes }) => [
      [name, Math.round(rows).toLocaleString('en'), mebibytes(tableBytes)],
      ...indexes.map((index) => [`  ${index.name}`, '', mebibytes(index.bytes)]),
    ]),
  ]);
}

/** What a round trip on a busy machine is out by; a tree of one more level costs less. Milliseconds. */
export const NOISE_MS = 0.25;

/**
 * Over the limit by its medians, by more than the noise, and by its lower quartiles too. Written so that a figure which is none is over.
 *
 * @param {Measured} measured
 */
export function isOver({ limit, medians, quartiles }) {
  const [base = NaN, other = NaN] = medians;
  const within = limit === null || ratioOf(medians) <= limit || ratioOf(quartiles) <= limit || other - base <= NOISE_MS;
  return !within;
}

/** @param {readonly (readonly string[])[]} table the first row is its head */
function print(table) {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  for (const cells of table) {
    const line = cells.map((cell, column) =>
      column ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[0] ?? 0),
    );
    console.log(line.join('  ').trimEnd());
  }
  console.log('');
}
