// @ts-check
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'libs/workflow';
const SOURCES = [`${PACKAGE}/src`, 'migrations'];

export class NotBuilt extends Error {}

/**
 * A build older than its sources would be judged for what it is not.
 *
 * @throws {NotBuilt}
 */
export function assertBuilt() {
  const built = path.join(root, PACKAGE, 'dist/index.js');
  const advice = 'call `npm run bench`, which builds, or `node scripts/build.mjs` before';
  if (!fs.existsSync(built)) throw new NotBuilt(`The package is not built (there is no ${built}): ${advice}.`);
  const builtAt = fs.statSync(built).mtimeMs;
  for (const sources of SOURCES) {
    for (const entry of fs.readdirSync(path.join(root, sources), { recursive: true })) {
      const file = path.join(sources, String(entry));
      if (fs.statSync(path.join(root, file)).mtimeMs > builtAt)
        throw new NotBuilt(`${file} is newer than the build: ${advice}.`);
    }
  }
}
