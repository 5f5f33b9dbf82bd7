// @ts-check
import { startAtOnce, workAtOnce } from './at-once.mjs';
import { measureFanOut } from './fan-out.mjs';
import { keepInFlight } from './in-flight.mjs';
import { measureIdle, measureWakeUp } from './one-by-one.mjs';

/**
 * @typedef {object} Setting what a workload has in its process
 * @property {import('../peer.mjs').Peer} peer
 * @property {string} url an empty database, or for `workAtOnce` one with runs in it
 * @property {import('pg').Client} client a connection of the bench's own to it
 * @property {import('../tally.mjs').Tally} tally
 *
 * @typedef {typeof tasks} Tasks
 * @typedef {keyof Tasks} TaskName
 */

/** What a child process does. */
export const tasks = { startAtOnce, workAtOnce, keepInFlight, measureIdle, measureWakeUp, measureFanOut };
