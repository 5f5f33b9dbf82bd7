// @ts-check
// Two folders to measure from, alike in everything but the package: a copy of this tree's build, and an earlier commit that
// is built in a worktree of git's. Both get this tree's bench, for what measures has to be the same.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'libs/workflow';

/** What whoever called can mend. */
export class CannotCompare extends Error {}

/**
 * @typedef {object} Sides
 * @property {string} here folder of the working tree's side
 * @property {string} there folder of the commit's side
 * @property {{ commit: string, subject: string, changed: string[] }} tree the working tree: its commit, and which files differ from it
 * @property {{ commit: string, subject: string }} other
 */

/**
 * @param {string} revision
 * @param {(line: string) => void} say
 * @returns {Sides} the folders are removed when the process exits
 */
export function prepareSides(revision, say) {
  const other = commitOf(revision);
  const tree = { ...commitOf('HEAD'), changed: changedFiles() };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'workflows-bench-'));
  const there = path.join(folder, 'there');
  removeAtExit(folder, there);
  const here = path.join(folder, 'here');
  fs.cpSync(path.join(root, PACKAGE, 'dist'), path.join(here, PACKAGE, 'dist'), { recursive: true });
  fs.copyFileSync(path.join(root, PACKAGE, 'package.json'), path.join(here, PACKAGE, 'package.json'));
  linkModules(here);

  say(`building ${other.commit}: ${other.subject}`);
  git('worktree', 'add', '--quiet', '--detach', there, other.commit);
  if (sameDependencies(there)) linkModules(there);
  else {
    say(`${other.commit} has other dependencies: npm ci, which takes a while`);
    runThere(there, 'npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts']);
  }
  runThere(there, process.execPath, ['scripts/build.mjs']);
  for (const side of [here, there]) copyBench(side);
  return { here, there, tree, other };
}

/** @param {string} revision */
function commitOf(revision) {
  const { status, stdout } = gitSays('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`);
  if (status !== 0) {
    const inside = gitSays('rev-parse', '--is-inside-work-tree').status === 0;
    throw new CannotCompare(
      inside
        ? `git knows no commit "${revision}" in ${root}: name a commit, branch or tag (\`git log --oneline\`), and fetch it if the clone is shallow.`
        : `${root} is no git repository: an earlier commit can only be had from one.`,
    );
  }
  const [commit, subject] = git('log', '-1', '--format=%h%n%s', stdout.trim()).split('\n');
  return { commit, subject };
}

/** Files of the package that are not as in HEAD. */
function changedFiles() {
  const listed = git(
    'status',
    '--porcelain',
    '--untracked-files=all',
    '--',
    PACKAGE,
    'migrations',
    'package-lock.json',
  );
  return listed.split('\n').flatMap((line) => (line ? [line.slice(3)] : []));
}

/** @param {string} there */
function sameDependencies(there) {
  const [ours, theirs] = [root, there].map((folder) => {
    const { packages } = JSON.parse(fs.readFileSync(path.join(folder, 'package-lock.json'), 'utf8'));
    // The workspace's own packages have versions and scripts too, which are no dependencies.
    return JSON.stringify(Object.entries(packages).filter(([name]) => name.includes('node_modules/')));
  });
  return ours === theirs;
}

/**
 * The installed modules, each by a link; our own package alone is the side's.
 *
 * @param {string} side
 */
function linkModules(side) {
  const installed = path.join(root, 'node_modules');
  const modules = path.join(side, 'node_modules');
  fs.mkdirSync(modules, { recursive: true });
  for (const entry of fs.readdirSync(installed, { withFileTypes: true })) {
    const link = path.join(modules, entry.name);
    // What is a link here is a package of the workspace, and leads to the side's own.
    const target = entry.isSymbolicLink()
      ? path.resolve(modules, fs.readlinkSync(path.join(installed, entry.name)))
      : path.join(installed, entry.name);
    fs.symlinkSync(target, link, 'junction');
  }
  // What only one package of the workspace has, in a version of its own.
  for (const name of fs.readdirSync(path.join(root, 'apps'))) {
    const own = path.join(root, 'apps', name, 'node_modules');
    const there = path.join(side, 'apps', name);
    if (fs.existsSync(own) && fs.existsSync(there)) fs.symlinkSync(own, path.join(there, 'node_modules'), 'junction');
  }
}

/** @param {string} side */
function copyBench(side) {
  fs.rmSync(path.join(side, 'bench'), { recursive: true, force: true });
  fs.mkdirSync(path.join(side, 'bench'));
  for (const file of fs.readdirSync(path.join(root, 'bench'))) {
    if (file.endsWith('.mjs')) fs.copyFileSync(path.join(root, 'bench', file), path.join(side, 'bench', file));
  }
}

/**
 * @param {string} there
 * @param {string} command
 * @param {string[]} args
 */
function runThere(there, command, args) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, { cwd: there, encoding: 'utf8' });
  if (status === 0) return;
  const words = `${stdout ?? ''}${stderr ?? ''}`.trimEnd().split('\n').slice(-15).join('\n');
  throw new CannotCompare(
    `\`${path.basename(command)} ${args.join(' ')}\` failed for that commit (${error?.message ?? signal ?? `exit code ${status}`}), so it cannot be measured:\n${words}`,
  );
}

/**
 * @param {string} folder
 * @param {string} worktree
 */
function removeAtExit(folder, worktree) {
  process.once('exit', () => {
    if (fs.existsSync(worktree)) gitSays('worktree', 'remove', '--force', worktree);
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });
}

/** @param {string[]} args */
function gitSays(...args) {
  const answer = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (answer.error) throw new CannotCompare(`git cannot be run: ${answer.error.message}`);
  return answer;
}

/** @param {string[]} args */
function git(...args) {
  const { status, stdout, stderr } = gitSays(...args);
  if (status !== 0) throw new CannotCompare(`git ${args.join(' ')} failed: ${stderr.trim()}`);
  return stdout.trimEnd();
}
