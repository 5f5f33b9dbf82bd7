// @ts-check
import { Lane } from './lane.mjs';

/**
 * @typedef {object} Job some rounds of a cell
 * @property {import('./points.mjs').Point} point
 * @property {import('nestjs-pg-workflows').StallAction} action
 * @property {number} from number of the first round
 * @property {number} rounds
 *
 * @typedef {import('./lane.mjs').Round} Round
 */

/**
 * Plays jobs in several lanes at once, in their order.
 *
 * @param {object} options
 * @param {readonly Job[]} options.jobs
 * @param {number} options.lanes
 * @param {() => Promise<import('./lane.mjs').Place>} options.newPlace
 * @param {(round: Round) => void} options.played told of each round
 */
export async function playMatrix({ jobs, lanes, newPlace, played }) {
  const left = [...jobs];
  const work = async () => {
    const lane = await Lane.open(await newPlace());
    try {
      for (let job = left.shift(); job; job = left.shift()) {
        for (let round = 0; round < job.rounds; round += 1) {
          played(await lane.round(job.point, job.action, job.from + round));
        }
      }
    } finally {
      await lane.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, jobs.length) }, work));
}
