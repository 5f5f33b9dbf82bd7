// @ts-check
// Builds everything, starts a PostgreSQL with a database for the demo, and runs the demo application on it.
//
//   npm run demo                   stays up until Ctrl-C
//   npm run demo -- --once         exits: 0 when all went as expected, else 1
//   node scripts/demo.mjs --no-build    uses the last build

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client, escapeIdentifier } from 'pg';
import { startPostgres } from './postgres.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const application = fileURLToPath(new URL('../apps/demo/dist/main.js', import.meta.url));
const options = process.argv.slice(2);

if (!options.includes('--no-build')) {
  console.log('Building the package and the demo …');
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

// A Ctrl-C reaches the application too, and it ends first: then the database goes.
/** @type {import('node:child_process').ChildProcess | undefined} */
let running;
let interrupted = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}

console.log('Starting PostgreSQL …');
const server = await startPostgres({ quiet: true }).catch((/** @type {Error} */ error) => {
  if (!interrupted) console.error(error.message);
  process.exit(interrupted ? 0 : 1);
});
const database = `workflows_demo_${randomBytes(6).toString('hex')}`;
try {
  await onServer(`create database ${escapeIdentifier(database)}`);
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  if (!interrupted) process.exitCode = await run(url.href);
} finally {
  await onServer(`drop database if exists ${escapeIdentifier(database)} with (force)`);
  await server.stop();
}

/**
 * @param {string} databaseUrl
 * @returns {Promise<number>} the application's exit code
 */
async function run(databaseUrl) {
  running = spawn(process.execPath, ['--enable-source-maps', application, ...options], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: 'inherit',
  });
  const [code] = await once(running, 'exit');
  return code ?? 1;
}

/** @param {string} statement */
async function onServer(statement) {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
