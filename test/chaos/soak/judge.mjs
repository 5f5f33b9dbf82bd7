// @ts-check
// Whether what was sampled levels off: the median of the last quarter against that of the second. The first quarter warms up.

/**
 * @typedef {object} Sample
 * @property {number} at seconds since the load began
 * @property {number} stepsPerSecond since the sample before
 * @property {number} openRuns
 * @property {number} databaseMsPerStep what the server's connections were busy, a step
 * @property {number} heapMb of all workers together, after garbage was collected
 * @property {number} deadTuples in the four tables
 * @property {Record<string, number>} tableMb by table
 * @property {Record<string, number>} indexMb by table: its indexes
 *
 * @typedef {object} Bound
 * @property {string} name
 * @property {(sample: Sample) => number} of
 * @property {number} [atMost] the ratio that counts as growing when it is passed
 * @property {number} [atLeast] the ratio that counts as falling when it is not reached
 * @property {number} [ignore] a difference of up to this much is none, whatever the ratio
 *
 * @typedef {object} Judgement
 * @property {string} name
 * @property {number} second median of the second quarter
 * @property {number} last median of the last quarter
 * @property {number} ratio
 * @property {string} bound
 * @property {'level' | 'grows' | 'falls'} verdict
 */

export const TABLES = /** @type {const} */ (['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals']);

/** Fewer samples have no quarters. */
export const LEAST_SAMPLES = 8;

/** @type {readonly Bound[]} */
export const BOUNDS = [
  { name: 'steps/s', of: ({ stepsPerSecond }) => stepsPerSecond, atLeast: 0.8 },
  { name: 'runs under way', of: ({ openRuns }) => openRuns, atMost: 1.5, ignore: 100 },
  { name: 'database ms a step', of: ({ databaseMsPerStep }) => databaseMsPerStep, atMost: 1.5, ignore: 0.2 },
  { name: 'heap of the workers, MB', of: ({ heapMb }) => heapMb, atMost: 1.15, ignore: 4 },
  { name: 'dead tuples', of: ({ deadTuples }) => deadTuples, atMost: 1.5, ignore: 2_000 },
  ...TABLES.map((table) => ({
    name: `${table}, MB`,
    of: (/** @type {Sample} */ { tableMb }) => tableMb[table] ?? 0,
    atMost: 1.25,
    ignore: 1,
  })),
  ...TABLES.map((table) => ({
    name: `indexes of ${table}, MB`,
    of: (/** @type {Sample} */ { indexMb }) => indexMb[table] ?? 0,
    atMost: 1.25,
    ignore: 1,
  })),
];

/**
 * @param {readonly Sample[]} samples in the order in which they were taken
 * @param {readonly Bound[]} [bounds]
 * @returns {Judgement[]}
 */
export function judge(samples, bounds = BOUNDS) {
  if (samples.length < LEAST_SAMPLES) {
    throw new Error(`${samples.length} samples are too few to judge by; ${LEAST_SAMPLES} are needed`);
  }
  const quarter = Math.floor(samples.length / 4);
  const second = samples.slice(quarter, 2 * quarter);
  const last = samples.slice(-quarter);
  return bounds.map((bound) => judgementOf(bound, median(second.map(bound.of)), median(last.map(bound.of))));
}

/**
 * @param {Bound} bound
 * @param {number} second
 * @param {number} last
 * @returns {Judgement}
 */
function judgementOf({ name, atMost = Infinity, atLeast = 0, ignore = 0 }, second, last) {
  const ratio = second === last ? 1 : last / second;
  const differs = Math.abs(last - second) > ignore;
  return {
    name,
    second,
    last,
    ratio,
    bound: `${atLeast > 0 ? `at least ${atLeast}` : `at most ${atMost}`}${ignore > 0 ? `, or within ${ignore}` : ''}`,
    verdict: differs && ratio > atMost ? 'grows' : differs && ratio < atLeast ? 'falls' : 'level',
  };
}

/** @param {readonly number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
