// @ts-check
import { percentile } from '../report.mjs';

/** @typedef {import('./sides.mjs').Side} Side */

/**
 * What is measured: `run` is, `before` and `after` (which get on with the same side) are not.
 *
 * @template Given
 * @typedef {object} Operation
 * @property {string} name
 * @property {(side: Side) => Promise<Given>} [before]
 * @property {(side: Side, given: Given) => Promise<unknown>} run
 * @property {(side: Side, given: Given, result: any) => Promise<unknown>} [after]
 * @property {true} [counts] it counts what is open, so it grows with it, and is asked for seldom: measured a few times, not held to the limit
 */

/**
 * @typedef {object} Measured
 * @property {string} name
 * @property {number[]} medians milliseconds, of each side
 * @property {number[]} quartiles the lower ones: what others do on the machine only adds
 * @property {number | null} limit the ratio it is held to
 */

/** Prepared statements get their lasting plan with the sixth execution. */
const WARM_UP = 10;
/** Of what takes its time. */
const FEW = 5;

/**
 * @param {readonly Side[]} sides what is compared with, and what is compared
 * @param {readonly Operation<any>[]} operations
 * @param {{ samples: number, limit: number | null, say: (line: string) => void }} options
 */
export async function measureAll(sides, operations, { samples, limit, say }) {
  const measured = [];
  for (const operation of operations) {
    const one = await measure(sides, operation, samples, operation.counts ? null : limit);
    say(
      `${one.name}: ${one.medians.map((ms) => ms.toFixed(2)).join(' and ')} ms, ${ratioOf(one.medians).toFixed(2)} x`,
    );
    measured.push(one);
  }
  return measured;
}

/**
 * On one side and the other in turn, beginning with another each round; medians.
 *
 * @param {readonly Side[]} sides
 * @param {Operation<any>} operation
 * @param {number} samples
 * @param {number | null} limit
 * @returns {Promise<Measured>}
 */
async function measure(sides, operation, samples, limit) {
  /** @type {Map<Side, number[]>} */
  const times = new Map(sides.map((side) => [side, []]));
  const [warmUp, rounds] = operation.counts ? [1, FEW] : [WARM_UP, samples];
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const side of round % 2 ? sides : sides.toReversed()) {
      const took = await once(side, operation);
      if (round >= 0) times.get(side)?.push(took);
    }
  }
  const atShare = (/** @type {number} */ share) => sides.map((side) => percentile(times.get(side) ?? [], share));
  return { name: operation.name, medians: atShare(0.5), quartiles: atShare(0.25), limit };
}

/**
 * @param {Side} side
 * @param {Operation<any>} operation
 */
async function once(side, { before, run, after }) {
  const given = await before?.(side);
  const begun = performance.now();
  const result = await run(side, given);
  const took = performance.now() - begun;
  await after?.(side, given, result);
  return took;
}

/** @param {readonly number[]} figures of the side that is compared with, and of the other */
export function ratioOf([base, other]) {
  return (other ?? NaN) / (base ?? NaN);
}
