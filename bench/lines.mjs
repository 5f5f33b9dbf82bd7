// @ts-check
// What can be measured, by name: for `--only`, for the comparison of two commits and for the profile.

import { ALL_MODES, NO_MODES } from './app.mjs';
import { measureInFlight } from './in-flight.mjs';
import { measureLatency, measureThroughput } from './measurements.mjs';
import { percentile } from './report.mjs';
import { measureFanOut, measureParked, measureWakeUp } from './waiting.mjs';
import { WORKLOADS } from './workloads.mjs';

/**
 * @typedef {import('./attach.mjs').BenchDatabase} BenchDatabase
 * @typedef {import('./measurements.mjs').Figures} Figures
 * @typedef {import('./measurements.mjs').Watch} Watch
 *
 * @typedef {object} Line
 * @property {string} name
 * @property {string} title
 * @property {'rate' | 'times' | 'fan-out' | 'claim'} kind `rate`: steps a second, a row of the table
 * @property {readonly string[]} compares the figures (of FIGURES) that two commits are compared by
 * @property {boolean} [onlyByName] no part of a comparison, unless it is asked for
 * @property {(database: BenchDatabase, watch?: Watch) => Promise<Figures>} measure
 */

/**
 * What a figure is, and which way is better. `judged: false`: it is printed, and too much of a gamble to fail for.
 *
 * @type {Record<string, { title: string, better: 'more' | 'less', judged: boolean, digits: number }>}
 */
export const FIGURES = {
  startsPerSecond: { title: 'starts/s', better: 'more', judged: true, digits: 0 },
  stepsPerSecond: { title: 'steps/s', better: 'more', judged: true, digits: 0 },
  commitsPerStep: { title: 'commits/step', better: 'less', judged: true, digits: 3 },
  walBytesPerStep: { title: 'WAL bytes/step', better: 'less', judged: true, digits: 0 },
  p50: { title: 'p50 ms', better: 'less', judged: true, digits: 2 },
  p95: { title: 'p95 ms', better: 'less', judged: false, digits: 2 },
  membersPerSecond: { title: 'members/s', better: 'more', judged: true, digits: 0 },
  peakMegabytes: { title: 'MB at its peak', better: 'less', judged: false, digits: 0 },
  besideMs: { title: 'ms a claim', better: 'less', judged: true, digits: 2 },
};

export const RUNS = { batched: 4_000, unbatched: 800, special: 2_000, floor: 4_000, latency: 200 };

const RATES = ['stepsPerSecond', 'startsPerSecond', 'commitsPerStep', 'walBytesPerStep'];

/** @type {readonly Line[]} */
export const LINES = [
  {
    name: 'throughput',
    title: 'five plain steps, as it is',
    kind: 'rate',
    compares: RATES,
    measure: (database, watch) => measureThroughput(database, ALL_MODES, RUNS.batched, undefined, watch),
  },
  {
    name: 'one-by-one',
    title: 'one by one: no sets, not in place',
    kind: 'rate',
    compares: RATES,
    onlyByName: true,
    measure: (database, watch) => measureThroughput(database, NO_MODES, RUNS.unbatched, undefined, watch),
  },
  inFlightOf(10),
  inFlightOf(20),
  ...Object.entries(WORKLOADS).map(specialOf),
  {
    name: 'latency',
    title: 'start to finish, 3 steps',
    kind: 'times',
    compares: ['p50', 'p95'],
    measure: async (database, watch) => quantiles(await measureLatency(database, RUNS.latency, watch)),
  },
  {
    name: 'wake-up',
    title: 'signal to next step',
    kind: 'times',
    compares: ['p50', 'p95'],
    measure: (database, watch) => measureWakeUp(database, 200, watch),
  },
  fanOutOf(1_000),
  fanOutOf(10_000),
  { ...fanOutOf(100_000), onlyByName: true },
  {
    name: 'parked',
    title: 'a claim beside 100,000 parked runs',
    kind: 'claim',
    compares: ['besideMs'],
    measure: (database) => measureParked(database, 100_000),
  },
];

/**
 * @param {number} atOnce
 * @returns {Line}
 */
function inFlightOf(atOnce) {
  return {
    name: `in-flight-${atOnce}`,
    title: `${atOnce} runs at once`,
    kind: 'rate',
    compares: RATES.filter((figure) => figure !== 'startsPerSecond'),
    measure: (database, watch) => measureInFlight(database, atOnce, watch),
  };
}

/**
 * @param {[string, typeof WORKLOADS[string]]} entry
 * @returns {Line}
 */
function specialOf([name, { title, workload, runs = RUNS.special }]) {
  return {
    name,
    title,
    kind: 'rate',
    compares: RATES,
    measure: (database, watch) => measureThroughput(database, ALL_MODES, runs, workload, watch),
  };
}

/**
 * @param {number} members
 * @returns {Line}
 */
function fanOutOf(members) {
  return {
    name: `fan-out-${members}`,
    title: `fan-out of ${members.toLocaleString('en')}`,
    kind: 'fan-out',
    compares: ['membersPerSecond', 'peakMegabytes'],
    measure: (database, watch) => measureFanOut(database, members, watch),
  };
}

/** @param {readonly number[]} times */
const quantiles = (times) => ({ p50: percentile(times, 0.5), p95: percentile(times, 0.95) });
