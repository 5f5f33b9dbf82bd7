// @ts-check
// The browser of tests, pictures and benchmarks.

import { existsSync } from 'node:fs';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * Where Chromium is: `CHROMIUM_PATH`, or where packages put it; undefined: nowhere. A `CHROMIUM_PATH` that is not there counts as none, whatever else there is:
 * somebody meant that one.
 *
 * @param {Readonly<Record<string, string | undefined>>} [env]
 * @param {(path: string) => boolean} [isThere]
 * @returns {string | undefined}
 */
export function findChromium({ CHROMIUM_PATH } = process.env, isThere = existsSync) {
  return (CHROMIUM_PATH ? [CHROMIUM_PATH] : PLACES).find((place) => isThere(place));
}

/**
 * Why there is none, and what to do about it.
 *
 * @param {Readonly<Record<string, string | undefined>>} [env]
 * @returns {string}
 */
export function noChromium({ CHROMIUM_PATH } = process.env) {
  return CHROMIUM_PATH
    ? `there is no file ${CHROMIUM_PATH}, which CHROMIUM_PATH names. Let it name a Chromium, or leave it out where the system has one.`
    : 'there is no Chromium. Install one (Debian: apt-get install chromium), or name one in CHROMIUM_PATH.';
}
