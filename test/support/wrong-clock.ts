import { readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** libfaketime (Debian's package `faketime`): what a process asks its system for the time is answered wrong. */
const LIBRARY = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
  .flatMap((folder) => [folder, ...foldersOf(folder)])
  .flatMap((folder) => filesOf(path.join(folder, 'faketime')))
  .find((file) => file.endsWith('libfaketimeMT.so.1'));

/** How clocks are set wrong on this machine. */
export const WRONG_BY = LIBRARY ? 'libfaketime' : 'a shifted Date, there is no libfaketime here';

/** The environment of a Node process whose clock is so many hours ahead, or behind. */
export function clockOffBy(hours: number): Record<string, string> {
  if (LIBRARY) {
    // The monotonic clock is never set, on real machines neither.
    return { LD_PRELOAD: LIBRARY, FAKETIME: `${hours < 0 ? '' : '+'}${hours}h`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  }
  const preload = pathToFileURL(path.join(__dirname, 'shifted-clock.mjs')).href;
  return { NODE_OPTIONS: `--import ${preload}`, SHIFTED_MS: String(hours * 3_600_000) };
}

function foldersOf(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
}

function filesOf(folder: string): string[] {
  return entriesOf(folder).map(({ name }) => path.join(folder, name));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
