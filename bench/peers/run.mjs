// @ts-check
// npm run bench [-- --rounds 3 --only us,dbos --workloads idle,wakeUp --json]: see README.md.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { entryOf, PEERS } from './peers.mjs';
import { figures as known, percentile, turns } from './plan.mjs';
import { nodeOfChildren } from './process.mjs';

const WORKLOADS = [...new Set(turns.map(({ workload }) => workload))];
const say = (/** @type {string} */ line) => console.error(line);
const { rounds, only, workloads, json } = options();
buildPackage();
// They import what is built and installed by now.
const { openServer } = await import('./server.mjs');
const { aheadOf, tableOf } = await import('./table.mjs');

const node = nodeOfChildren();
const server = await openServer();
/** @type {Map<string, import('./plan.mjs').Figures[]>} */
const measured = new Map(only.map((peer) => [peer, []]));
/** @type {string[]} */
const failures = [];
try {
  const nodeVersion = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);
  const where = `PostgreSQL ${server.version} (fsync on), Node ${nodeVersion}, ${os.availableParallelism()} cores (${os.cpus()[0]?.model.trim()})`;
  say(`${where}; ${rounds} rounds of ${only.join(', ')}`);
  for (let round = 1; round <= rounds; round += 1) await playRound(round);
  const rows = rowsOf();
  const ahead = aheadOf(rows);
  if (json) console.log(JSON.stringify({ where, rounds, rows, ahead, failures }, null, 2));
  else {
    console.log(`${where}; medians of ${rounds} alternating rounds\n\n${tableOf(rows)}`);
    if (ahead.length) console.log(`\nAhead of us:\n${ahead.map((line) => `  ${line}`).join('\n')}`);
    if (failures.length) console.log(`\nFailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
  }
  if (failures.length) process.exitCode = 1;
} finally {
  await server.close();
}

/**
 * The peers take turns within each workload, so that what is compared is measured in the same minute; each round begins with another one.
 *
 * @param {number} round
 */
async function playRound(round) {
  const inTurn = only.map((_, index) => only[(index + round - 1) % only.length] ?? '');
  /** @type {Map<string, import('./plan.mjs').Figures>} */
  const figuresOf = new Map(only.map((peer) => [peer, {}]));
  for (const { workload, measure } of turns) {
    if (!workloads.includes(workload)) continue;
    for (const peer of inTurn) {
      if (entryOf(peer).cannot?.includes(workload)) continue;
      try {
        const figures = await measure({ node, peer, server });
        Object.assign(figuresOf.get(peer) ?? {}, figures);
        const shown = Object.entries(figures).map(([name, value]) => `${name} ${value.toPrecision(4)}`);
        say(`round ${round}, ${peer}: ${shown.join(', ')}`);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        say(`round ${round}, ${peer}, ${workload}: ${message}`);
        failures.push(`round ${round}, ${peer}, ${workload}: ${message.split('\n')[0]}`);
      }
    }
  }
  for (const [peer, figures] of figuresOf) measured.get(peer)?.push(figures);
}

/** @returns {import('./table.mjs').Row[]} */
function rowsOf() {
  const names = /** @type {import('./plan.mjs').FigureName[]} */ (Object.keys(known));
  const mediansOf = (/** @type {string} */ peer) => {
    /** @type {import('./plan.mjs').Figures} */
    const medians = {};
    for (const name of names) {
      const values = (measured.get(peer) ?? []).flatMap((figures) => figures[name] ?? []);
      if (values.length) medians[name] = percentile(values, 0.5);
    }
    return medians;
  };
  const ours = mediansOf('us');
  return only.map((peer) => {
    const medians = mediansOf(peer);
    /** @type {import('./plan.mjs').Figures} */
    const ratios = {};
    for (const name of peer === 'us' ? [] : names) {
      const [theirs, mine] = [medians[name], ours[name]];
      if (theirs !== undefined && mine !== undefined) ratios[name] = theirs / mine;
    }
    return { title: entryOf(peer).title, version: versionOf(entryOf(peer).packageName), medians, ratios };
  });
}

/** @param {string} packageName */
function versionOf(packageName) {
  let folder = path.dirname(createRequire(import.meta.url).resolve(packageName));
  for (;;) {
    const file = path.join(folder, 'package.json');
    if (fs.existsSync(file)) {
      const { name, version } = JSON.parse(fs.readFileSync(file, 'utf8'));
      if (name === packageName) return String(version);
    }
    if (folder === path.dirname(folder)) throw new Error(`Where is the package.json of ${packageName}?`);
    folder = path.dirname(folder);
  }
}

function options() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: Object.keys(PEERS).join(',') },
      workloads: { type: 'string', default: WORKLOADS.join(',') },
      json: { type: 'boolean', default: false },
    },
  });
  const count = Number(values.rounds);
  if (!Number.isInteger(count) || count < 1) throw new Error(`--rounds ${values.rounds}: a whole number from 1 on`);
  const names = values.only.split(',').map((name) => name.trim());
  for (const name of names) entryOf(name);
  const chosen = values.workloads.split(',').map((name) => name.trim());
  const unknown = chosen.find((name) => !(/** @type {readonly string[]} */ (WORKLOADS).includes(name)));
  if (unknown !== undefined) throw new Error(`There is no workload '${unknown}': they are ${WORKLOADS.join(', ')}`);
  return { rounds: count, only: names, workloads: chosen, json: values.json };
}

/** What is measured is what the sources say now. */
function buildPackage() {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));
  try {
    createRequire(script).resolve('typescript/package.json');
  } catch (error) {
    throw new Error('The top level has no packages: run npm ci there first', { cause: error });
  }
  const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The package does not build: the words of the build are above');
}
