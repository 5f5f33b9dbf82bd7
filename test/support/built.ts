/** The package and the demo as built files, for tests that run real processes. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const SOURCES = ['libs/workflow/src', 'migrations', 'apps/demo/src'];
const LAST_BUILT = path.join(root, 'apps/demo/dist/main.js');

/** Builds when a source is newer than the last build, or there is none. */
export function ensureBuilt(): void {
  if (existsSync(LAST_BUILT) && newestSource() <= statSync(LAST_BUILT).mtimeMs) return;
  const built = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`scripts/build.mjs failed:\n${built.stdout}${built.stderr}`);
}

function newestSource(): number {
  const times = SOURCES.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => statSync(path.join(root, folder, name)).mtimeMs),
  );
  return Math.max(...times);
}
