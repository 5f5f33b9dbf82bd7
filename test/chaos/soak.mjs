// @ts-check
// A steady load for ten minutes, and whether anything grows: npm run test:soak. See README.md.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runSoak } from './soak/course.mjs';
import { LEAST_SAMPLES } from './soak/judge.mjs';
import { positive, readOptions, whole } from './support/command.mjs';

const HELP = `Usage: npm run test:soak [-- options]

Two worker processes run a steady load, and the sweep deletes ended runs almost as soon as they have ended. Every few seconds
steps a second, the workers' heap, dead tuples and the sizes of tables and indexes are sampled. At the end the medians of the second
and the last quarter are compared. Exit code 0 only when nothing grew (or fell) beyond its bound, every run ended, and the
invariants hold.

  --minutes <n>       (10)
  --rate <n>          runs started a second (40)
  --workers <n>       worker processes (2)
  --sample-every <s>  seconds between two samples (10)
  --retention <s>     seconds an ended run is kept (30)
  --sweep-every <s>   seconds between two sweeps (5)
  --json              prints the result as JSON
  --help
`;

const given = readOptions(HELP, {
  minutes: positive(10),
  rate: whole(40, 1),
  workers: whole(2, 1),
  'sample-every': positive(10),
  retention: positive(30),
  'sweep-every': positive(5),
});
const seconds = given.minutes * 60;
if (seconds / given['sample-every'] < LEAST_SAMPLES) {
  console.error(
    `In ${seconds} s there are fewer than ${LEAST_SAMPLES} samples: give --minutes more or --sample-every less.`,
  );
  process.exit(2);
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-soak-'));
const say = (/** @type {string} */ line) => console.error(line);
const result = await runSoak(
  {
    seconds,
    rate: given.rate,
    workers: given.workers,
    sampleEvery: given['sample-every'],
    retention: given.retention,
    sweepEvery: given['sweep-every'],
    folder,
  },
  say,
  (sample) => say(lineOf(sample)),
);
rmSync(folder, { recursive: true });
if (given.json) console.log(JSON.stringify(result, null, 2));
else tell(result);
process.exitCode = result.ok ? 0 : 1;

/** @param {import('./soak/judge.mjs').Sample} sample */
function lineOf({ at, stepsPerSecond, openRuns, databaseMsPerStep, heapMb, deadTuples, tableMb, indexMb }) {
  const size = (/** @type {Record<string, number>} */ sizes) => Object.values(sizes).reduce((sum, mb) => sum + mb, 0);
  return (
    `${Math.round(at)} s: ${Math.round(stepsPerSecond)} steps/s, ${openRuns} runs under way, ${databaseMsPerStep.toFixed(2)} ms of the database a step, ` +
    `heap ${heapMb.toFixed(1)} MB, ${deadTuples} dead tuples, tables ${size(tableMb).toFixed(1)} MB, indexes ${size(indexMb).toFixed(1)} MB`
  );
}

/** @param {typeof result} outcome */
function tell({ judgements, problems, started, deleted, ok }) {
  console.log(`${'median of'.padEnd(32)} ${'2nd quarter'.padStart(12)} ${'last'.padStart(12)} ${'ratio'.padStart(7)}`);
  for (const { name, second, last, ratio, bound, verdict } of judgements) {
    console.log(
      `${name.padEnd(32)} ${second.toFixed(2).padStart(12)} ${last.toFixed(2).padStart(12)} ${ratio.toFixed(2).padStart(7)}  ${verdict} (${bound})`,
    );
  }
  console.log(`${started} runs started, ${deleted} deleted`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(ok ? 'Everything levels off.' : `${problems.length} things are wrong.`);
}
