// @ts-check
// Is docs/tutorial.md true? Follows the page in a fresh folder: makes its application with the Nest CLI, installs the packed package there, writes the
// files that the page names, types its commands, and compares what they print with what the page says. tutorial/page.mjs says how the page is read.
//
//   npm run test:tutorial [-- --keep]
//
//   --keep       leaves the application in the temporary folder

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { StepFailed } from './install/command.mjs';
import { withDatabase } from './install/database.mjs';
import { temporaryFolder } from './install/folder.mjs';
import { pack } from './install/tarball.mjs';
import { freePort } from './install/waiting.mjs';
import { startPostgres } from './postgres.mjs';
import { readPage } from './tutorial/page.mjs';
import { Reader } from './tutorial/reader.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const keep = process.argv.includes('--keep');
const begun = performance.now();
const seconds = () => `${((performance.now() - begun) / 1000).toFixed(0)} s`;

const folder = temporaryFolder('test:tutorial', { keep });

let passed = 0;
let failed = 0;
/** @type {Awaited<ReturnType<typeof startPostgres>> | undefined} */
let postgres;
try {
  const steps = readPage(readFileSync(path.join(root, 'docs/tutorial.md'), 'utf8'));
  postgres = await startPostgres();
  const { url } = postgres;
  const { file } = await pack(root, folder);
  console.log(`test:tutorial: packed, ${seconds()}`);
  await withDatabase(url, 'tutorial', (shop) =>
    withDatabase(url, 'tutorial_test', (tests) => follow(steps, substitutions(file, shop, tests))),
  );
  passed++;
} catch (error) {
  failed++;
  const text = error instanceof StepFailed ? error.message : error instanceof Error ? error.stack : String(error);
  console.error(`test:tutorial: FAILED: docs/tutorial.md: ${text}`);
} finally {
  await postgres?.stop();
}

mkdirSync(path.join(root, 'reports'), { recursive: true });
writeFileSync(path.join(root, 'reports/tutorial.json'), JSON.stringify({ passed, failed }));
console.log(`test:tutorial: ${passed} passed, ${failed} failed, ${seconds()}`);
process.exitCode = failed === 0 ? 0 : 1;

/**
 * @param {import('./tutorial/page.mjs').Step[]} steps
 * @param {import('./tutorial/reader.mjs').Substitution[]} differences
 */
async function follow(steps, differences) {
  const reader = new Reader(folder, await freePort(), differences);
  try {
    for (const step of steps) {
      await reader.follow(step);
      const what = step.is === 'file' ? step.name : step.text.split('\n').join('; ');
      console.log(`test:tutorial: line ${step.line}: ${what.slice(0, 100)}: ok, ${seconds()}`);
    }
    for (const { page, why } of reader.unused) {
      throw new Error(`the page has no "${page}" any more, which is typed otherwise here because ${why}`);
    }
  } finally {
    reader.close();
  }
}

/**
 * @param {string} tarball
 * @param {string} shop
 * @param {string} tests
 * @returns {import('./tutorial/reader.mjs').Substitution[]}
 */
function substitutions(tarball, shop, tests) {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve('@nestjs/cli/package.json');
  const [major] = require(manifest).version.split('.');
  const add = 'npx nest add nestjs-pg-workflows';
  const database = 'postgres://postgres:shop@localhost:5432';
  return [
    {
      page: `npx @nestjs/cli@${major} new`,
      here: `node '${path.join(path.dirname(manifest), 'bin/nest.js')}' new`,
      why: 'the CLI is here already',
    },
    {
      page: add,
      here: `npm install '${tarball}' && ${add} --skip-install && npm install`,
      why: 'this package is to be tried, and not the published one',
    },
    { page: `${database}/postgres`, here: `'${shop}'`, why: 'the server is another one' },
    { page: `${database}/shop_test`, here: `'${tests}'`, why: 'the server is another one' },
  ];
}
