// @ts-check
// A folder for what a script makes, which goes when the script ends, however it ends.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * @param {string} name the script's: `test:install`
 * @param {{ keep: boolean }} options
 * @returns {string} its path
 */
export function temporaryFolder(name, { keep }) {
  const folder = mkdtempSync(path.join(os.tmpdir(), `nestjs-pg-workflows-${name.replace('test:', '')}-`));
  process.once('exit', () => {
    if (keep) console.log(`${name}: kept in ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });
  // An exit also ends what was started, which a signal's default would not.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
  return folder;
}
