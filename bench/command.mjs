// @ts-check
// What `npm run bench` was asked for.

import { readArguments, WrongArguments } from './arguments.mjs';
import { check } from './check.mjs';
import { printCheck } from './check-report.mjs';
import { LINES } from './lines.mjs';
import { profile } from './profile.mjs';
import { printProfile } from './profile-report.mjs';
import { measureTable } from './table.mjs';
import { printTable } from './table-report.mjs';
import { CannotCompare } from './worktree.mjs';

const say = (/** @type {string} */ line) => console.error(line);
const interrupted = new AbortController();

/** @param {readonly string[]} args */
export async function run(args) {
  try {
    const { json, check: commit, profile: profiled, only, rounds, threshold } = readArguments(args);
    if (profiled) {
      const result = await profile(profiled, say);
      if (json) console.log(JSON.stringify(result));
      else printProfile(result);
    } else if (commit === undefined) {
      const result = await measureTable({ lines: only ?? LINES, rounds }, say);
      if (json) console.log(JSON.stringify(result, null, 2));
      else printTable(result);
    } else {
      cleanUpWhenInterrupted();
      const lines = only ?? LINES.filter(({ onlyByName }) => !onlyByName);
      const result = await check({ commit, lines, rounds, threshold }, say, interrupted.signal);
      if (json) console.log(JSON.stringify(result, null, 2));
      else printCheck(result);
      if (!result.passed) process.exitCode = 1;
    }
  } catch (error) {
    // 1 is a figure that is worse.
    process.exitCode = interrupted.signal.aborted ? 130 : 2;
    if (interrupted.signal.aborted) say('bench: interrupted');
    else if (error instanceof WrongArguments || error instanceof CannotCompare) say(`bench: ${error.message}`);
    else console.error(error);
  }
}

/** Once is a wish: what was made is removed. Twice is an order. */
function cleanUpWhenInterrupted() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      say('bench: removing what was made');
      interrupted.abort();
      process.once(signal, () => process.exit(130));
    });
  }
}
