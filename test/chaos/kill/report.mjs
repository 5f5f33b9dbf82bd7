// @ts-check

/**
 * @typedef {import('./lane.mjs').Round} Round
 *
 * @typedef {object} Cell what came of all rounds of a point and an action
 * @property {string} point
 * @property {string} action
 * @property {number} rounds
 * @property {number} finished the run finished as if nothing had been
 * @property {number} stalled
 * @property {number} recovered stalled (or its batch failed), and finished all the same: tried again, or resumed
 * @property {number} cancelled stalled, and cancelled as the action says
 * @property {Record<'plain' | 'keyed' | 'transactional', [least: number, most: number] | null>} effects of a completed step
 * @property {number} broken rounds in which something was not as it should be
 * @property {number | null} noticedMs median: from the kill until the stall was declared
 * @property {number | null} slowestNoticedMs
 * @property {number | null} overMs median: from the kill until the run had ended, or paused for somebody
 * @property {Record<string, number>} detections
 */

/**
 * @param {readonly Round[]} rounds
 * @returns {Cell[]}
 */
export function cellsOf(rounds) {
  /** @type {Map<string, Round[]>} */
  const byCell = new Map();
  for (const round of rounds) {
    const key = `${round.point}\0${round.action}`;
    byCell.set(key, [...(byCell.get(key) ?? []), round]);
  }
  return [...byCell.values()].map(cellOf);
}

/**
 * @param {readonly Round[]} rounds
 * @returns {Cell}
 */
function cellOf(rounds) {
  const sound = rounds.filter(({ problems }) => problems.length === 0);
  const count = (/** @type {(round: Round) => boolean} */ is) => sound.filter(is).length;
  const stalled = (/** @type {Round} */ { detections }) => detections.length > 0;
  const noticed = sound.flatMap(({ noticedMs }) => noticedMs ?? []);
  /** @type {Record<string, number>} */
  const detections = {};
  for (const detection of sound.flatMap((round) => round.detections)) {
    detections[detection] = (detections[detection] ?? 0) + 1;
  }
  return {
    point: rounds[0].point,
    action: rounds[0].action,
    rounds: rounds.length,
    finished: count((round) => round.end === 'finished' && !stalled(round)),
    stalled: count(stalled),
    recovered: count((round) => round.resumed || (stalled(round) && round.end === 'finished')),
    cancelled: count((round) => round.end === 'cancelled'),
    effects: {
      plain: rangeOf(sound.flatMap(({ effects }) => effects.plain)),
      keyed: rangeOf(sound.flatMap(({ effects }) => effects.keyed)),
      transactional: rangeOf(sound.flatMap(({ effects }) => effects.transactional)),
    },
    broken: rounds.length - sound.length,
    noticedMs: medianOf(noticed),
    slowestNoticedMs: noticed.length ? Math.max(...noticed) : null,
    overMs: medianOf(sound.flatMap(({ overMs }) => overMs ?? [])),
    detections,
  };
}

/**
 * @param {number[]} values
 * @returns {[number, number] | null}
 */
function rangeOf(values) {
  return values.length ? [Math.min(...values), Math.max(...values)] : null;
}

/** @param {number[]} values */
function medianOf(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}

const COLUMNS = /** @type {const} */ ([
  'point',
  'action',
  'rounds',
  'finished',
  'stalled',
  'recovered',
  'cancelled',
  'plain',
  'keyed',
  'transactional',
  'noticed ms',
  'over ms',
  'broken',
]);

/**
 * @param {readonly Cell[]} cells
 * @returns {string}
 */
export function tableOf(cells) {
  const range = (/** @type {[number, number] | null} */ given) => (given ? [...new Set(given)].join(' to ') : '-');
  const whole = (/** @type {number | null} */ given) => (given === null ? '-' : String(Math.round(given)));
  const lines = cells.map((cell) => [
    cell.point,
    cell.action,
    String(cell.rounds),
    String(cell.finished),
    String(cell.stalled),
    String(cell.recovered),
    String(cell.cancelled),
    range(cell.effects.plain),
    range(cell.effects.keyed),
    range(cell.effects.transactional),
    whole(cell.noticedMs),
    whole(cell.overMs),
    String(cell.broken),
  ]);
  const table = [[...COLUMNS], ...lines];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((cells_) => cells_[column].length)));
  return table
    .map((line) =>
      line.map((text, column) => (column < 2 ? text.padEnd(widths[column]) : text.padStart(widths[column]))).join('  '),
    )
    .join('\n');
}
