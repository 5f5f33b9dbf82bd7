// @ts-check
// Does the package work where it will be used? Packs it, has publint and attw look at the tarball, makes fresh applications with
// the Nest CLI, installs it there, has `nest add` and `nest generate` set them up, adds a small workflow, and takes them through
// compiler, build, their own tests and a start on Express and one on Fastify, with TypeORM 0.3 and 1, on a real PostgreSQL.
//
//   npm run test:install [-- [--keep] [template…]]
//
//   --keep       leaves the applications in the temporary folder
//   template     nest12-esm, nest12-cjs, nest11-cjs; default: all

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, StepFailed } from './install/command.mjs';
import { withDatabase } from './install/database.mjs';
import { temporaryFolder } from './install/folder.mjs';
import { startApp } from './install/start-app.mjs';
import { checkInstalled, pack } from './install/tarball.mjs';
import { addWorkflow, generate, templates } from './install/templates.mjs';
import { startPostgres } from './postgres.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// Most of a template's time is npm's and the network's.
const AT_ONCE = 2;

const args = process.argv.slice(2);
const keep = args.includes('--keep');
const wanted = args.filter((arg) => arg !== '--keep');
const known = templates();
for (const name of wanted) {
  if (known.some((template) => template.name === name)) continue;
  console.error(`test:install: no template ${name}; there are ${known.map((template) => template.name).join(', ')}`);
  process.exit(2);
}
const chosen = known.filter(({ name }) => wanted.length === 0 || wanted.includes(name));

const folder = temporaryFolder('test:install', { keep });

let passed = 0;
let failed = 0;
/** @type {Awaited<ReturnType<typeof startPostgres>> | undefined} */
let postgres;
try {
  postgres = await startPostgres();
  const { file, summary } = await timed('package', 'pack', () => pack(root, folder));
  say('package', summary);
  // The resolution of every entry, from CommonJS and from ES modules; and what package.json promises.
  for (const command of [
    ['publint', 'run', file, '--strict'],
    ['attw', file, '--no-emoji'],
  ]) {
    await timed('package', command[0], () => run(command[0], ['npx', ...command], { cwd: root }));
  }
  const { url } = postgres;
  const queue = chosen.values();
  await Promise.all(Array.from({ length: AT_ONCE }, () => tryAll(queue, file, url)));
} catch (error) {
  failed++;
  complain('package', error);
} finally {
  await postgres?.stop();
}

mkdirSync(path.join(root, 'reports'), { recursive: true });
writeFileSync(path.join(root, 'reports/install.json'), JSON.stringify({ passed, failed }));
console.log(`test:install: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/**
 * @param {Iterable<import('./install/templates.mjs').Template>} queue
 * @param {string} tarball
 * @param {string} server
 */
async function tryAll(queue, tarball, server) {
  for (const template of queue) {
    say(template.name, template.says);
    try {
      await tryTemplate(template, tarball, server);
    } catch (error) {
      failed++;
      complain(template.name, error);
    }
  }
}

/**
 * @param {import('./install/templates.mjs').Template} template
 * @param {string} tarball
 * @param {string} server
 */
async function tryTemplate(template, tarball, server) {
  const { name } = template;
  const app = await timed(name, 'nest new', () => generate(template, folder));
  /**
   * @param {string} step
   * @param {string[]} command
   * @param {Record<string, string>} [env]
   */
  const inApp = (step, command, env) => timed(name, step, () => run(step, command, { cwd: app, env }));

  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
  await inApp('npm install', ['npm', 'install', ...quiet, tarball, ...template.packages]);
  checkInstalled('npm install', path.join(app, 'node_modules/nestjs-pg-workflows'));
  copyFileSync(path.join(root, 'scripts/install/same-classes.mjs'), path.join(app, 'same-classes.mjs'));
  await inApp('import and require', [process.execPath, 'same-classes.mjs']);

  await setUp(inApp, app);
  await inApp('npm install what nest add wrote', ['npm', 'install', ...quiet]);
  await inApp('nest generate', ['npx', 'nest', 'g', '-c', 'nestjs-pg-workflows', 'workflow', 'order']);
  addWorkflow(template, app);
  await compile(inApp, template);
  await withDatabase(server, name, async (url) => {
    if (template.testsNotRun) say(name, `tests not run: ${template.testsNotRun}`);
    else {
      // Two, for the workers of the one must not take what the other one's test runs by hand.
      await withDatabase(server, name, (testUrl) =>
        inApp('tests', ['npm', 'test'], { DATABASE_URL: url, TEST_DATABASE_URL: testUrl }),
      );
    }
    await runOnBoth(name, template.typeorm, inApp, app, url);
  });
  const { otherTypeorm } = template;
  if (otherTypeorm === undefined) return;
  await inApp(`npm install typeorm@${otherTypeorm}`, ['npm', 'install', ...quiet, `typeorm@${otherTypeorm}`]);
  await compile(inApp, template);
  await withDatabase(server, name, (url) => runOnBoth(name, otherTypeorm, inApp, app, url));
}

/**
 * @param {(step: string, command: string[]) => Promise<string>} inApp
 * @param {import('./install/templates.mjs').Template} template
 */
async function compile(inApp, { checksDeclarations }) {
  // With the declarations of all its packages, where these are without errors.
  await inApp('tsc', ['npx', 'tsc', '--noEmit', ...(checksDeclarations ? ['--skipLibCheck', 'false'] : [])]);
  await inApp('build', ['npm', 'run', 'build']);
}

/**
 * The built application, started on either platform, and checked as before a deploy.
 *
 * @param {string} name
 * @param {string} typeorm the version that is expected
 * @param {(step: string, command: string[], env?: Record<string, string>) => Promise<string>} inApp
 * @param {string} app
 * @param {string} url
 */
async function runOnBoth(name, typeorm, inApp, app, url) {
  const { version } = JSON.parse(readFileSync(path.join(app, 'node_modules/typeorm/package.json'), 'utf8'));
  if (!version.startsWith(`${typeorm}.`)) throw new StepFailed('start', `TypeORM is ${version}, not ${typeorm}`);
  for (const platform of ['express', 'fastify']) {
    const step = `start on ${platform} with TypeORM ${version}`;
    await timed(name, step, () => startApp(step, app, { DATABASE_URL: url, HTTP_PLATFORM: platform }));
    passed++;
  }
  const found = await inApp('check', ['npx', 'nestjs-pg-workflows', 'check', '--json'], { DATABASE_URL: url });
  const { ok, schema } = JSON.parse(found);
  if (!ok || schema.found !== schema.needed)
    throw new StepFailed('check', 'the build does not go with its database', found);
}

/**
 * `nest add`, twice. The package is there already: the CLI would install the one that is published.
 *
 * @param {(step: string, command: string[]) => Promise<string>} inApp
 * @param {string} app
 */
async function setUp(inApp, app) {
  const command = ['npx', 'nest', 'add', 'nestjs-pg-workflows', '--skip-install'];
  const files = () =>
    ['package.json', 'src/app.module.ts'].map((file) => readFileSync(path.join(app, file), 'utf8')).join('\n');
  await inApp('nest add', command);
  const once = files();
  const printed = await inApp('nest add, again', command);
  if (files() !== once) throw new StepFailed('nest add, again', 'it changes what is set up already', printed);
}

/**
 * @template T
 * @param {string} name
 * @param {string} step
 * @param {() => Promise<T>} work
 */
async function timed(name, step, work) {
  const begun = performance.now();
  const result = await work();
  say(name, `${step}: ok, ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  return result;
}

/**
 * @param {string} name
 * @param {string} text
 */
function say(name, text) {
  console.log(`test:install: ${name}: ${text}`);
}

/**
 * @param {string} name
 * @param {unknown} error
 */
function complain(name, error) {
  const text = error instanceof StepFailed ? error.message : error instanceof Error ? error.stack : String(error);
  console.error(`test:install: ${name}: FAILED: ${text}`);
}
