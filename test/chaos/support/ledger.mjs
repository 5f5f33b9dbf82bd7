// @ts-check
// What bodies did, written where no transaction takes it back: a line in a file of the process, there before the body goes on.

import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';

const PREFIX = 'ledger-';

/** @type {number | undefined} */
let file;

/**
 * Where this process writes.
 *
 * @param {string} folder
 */
export function openLedger(folder) {
  file = openSync(path.join(folder, `${PREFIX}${process.pid}`), 'a');
}

/**
 * @param {'begin' | 'end' | 'job'} what
 * @param {string} key of the attempt, or of a member's try
 */
export function note(what, key) {
  if (file === undefined) throw new Error('openLedger() comes first');
  writeSync(file, `${what}\t${key}\n`);
}

/** @typedef {{ what: string, key: string, pid: number }} Entry */

/**
 * What all processes wrote.
 *
 * @param {string} folder
 * @returns {Entry[]}
 */
export function readLedgers(folder) {
  const files = readdirSync(folder).filter((name) => name.startsWith(PREFIX));
  return files.flatMap((name) => {
    const pid = Number(name.slice(PREFIX.length));
    const lines = readFileSync(path.join(folder, name), 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => {
      const [what = '', key = ''] = line.split('\t');
      return { what, key, pid };
    });
  });
}
