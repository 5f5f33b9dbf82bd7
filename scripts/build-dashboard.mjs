// @ts-check
// Builds the dashboard to apps/dashboard/dist, where something in apps/dashboard is newer than what is there.
//
//   npm run build:dashboard [-- --force]

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dashboard = path.join(root, 'apps/dashboard');
const built = path.join(dashboard, 'dist');

/**
 * @param {{ force?: boolean }} [options]
 * @returns {string | null} the folder of what was built; null where there is nothing to build
 */
export function buildDashboard({ force = false } = {}) {
  if (!existsSync(path.join(dashboard, 'package.json'))) return null;
  if (!force && isBuilt()) return built;
  const vite = createRequire(path.join(dashboard, 'package.json')).resolve('vite/package.json');
  const { status } = spawnSync(process.execPath, [path.join(path.dirname(vite), 'bin/vite.js'), 'build'], {
    cwd: dashboard,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Jest's own would build React for development, twice as large.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (status !== 0) throw new Error("The dashboard does not build (Vite's words are above).");
  return built;
}

function isBuilt() {
  const page = statSync(path.join(built, 'index.html'), { throwIfNoEntry: false });
  return page !== undefined && newestSource() <= page.mtimeMs;
}

/** Of the packages that it is built with, the lock file tells. */
function newestSource() {
  const files = readdirSync(dashboard, { withFileTypes: true })
    .filter(({ name }) => name !== 'dist' && name !== 'node_modules')
    .flatMap((entry) => {
      const place = path.join(dashboard, entry.name);
      if (!entry.isDirectory()) return [place];
      return readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => path.join(place, name));
    });
  return Math.max(...[...files, path.join(root, 'package-lock.json')].map((file) => statSync(file).mtimeMs));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    if (buildDashboard({ force: process.argv.includes('--force') }) === null)
      console.log('There is no apps/dashboard.');
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
