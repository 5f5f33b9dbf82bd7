/** The package, the demo and the dashboard as built files, for tests that run real processes or a browser. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const SOURCES = ['libs/workflow/src', 'migrations', 'apps/demo/src'];
const LAST_BUILT = path.join(root, 'apps/demo/dist/main.js');
/** There while somebody builds: suites run at once, and a build begins by removing what was built. */
const LOCK = path.join(root, 'reports/building');
const LONGEST_BUILD_MS = 120_000;

/** Builds when a source is newer than the last build, or there is none. */
export function ensureBuilt(): void {
  while (existsSync(LOCK) || !isBuilt()) {
    alone(() => {
      if (!isBuilt()) run('scripts/build.mjs');
    });
  }
}

/** Builds the dashboard when one of its sources is newer; answers the folder that it is in. */
export function ensureDashboard(): string {
  while (!alone(() => run('scripts/build-dashboard.mjs')));
  return path.join(root, 'apps/dashboard/dist');
}

/** False, a moment later, while another process builds. */
function alone(work: () => void): boolean {
  if (!takeLock()) {
    pause(100);
    return false;
  }
  try {
    work();
    return true;
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

function isBuilt(): boolean {
  return existsSync(LAST_BUILT) && newestSource() <= statSync(LAST_BUILT).mtimeMs;
}

function run(script: string): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${script} failed:\n${stdout}${stderr}`);
}

function newestSource(): number {
  const times = SOURCES.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => statSync(path.join(root, folder, name)).mtimeMs),
  );
  return Math.max(...times);
}

/** False while another process has it. One that was killed while it built has it no longer than the longest build. */
function takeLock(): boolean {
  try {
    mkdirSync(LOCK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const since = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > LONGEST_BUILD_MS) rmSync(LOCK, { recursive: true, force: true });
    return false;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
