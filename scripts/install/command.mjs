// @ts-check
// Runs other programs as a person in a fresh shell would, and keeps what they print for the case that they fail.

import { spawn } from 'node:child_process';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const TAIL_LINES = 40;
const windows = process.platform === 'win32';

/** A step that failed: the message has its name, its command, and the end of what it printed. */
export class StepFailed extends Error {
  /**
   * @param {string} step
   * @param {string} reason
   * @param {string} [output]
   */
  constructor(step, reason, output = '') {
    const tail = presentable(output).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    super(`"${step}" failed: ${presentable(reason)}${tail && `\n${tail.replace(/^/gm, '    | ')}`}`);
  }
}

/**
 * @typedef {object} RunOptions
 * @property {string} cwd
 * @property {Record<string, string>} [env] over ours
 * @property {number} [timeoutMs]
 */

/**
 * Runs a command to its end.
 *
 * @param {string} step its name in messages
 * @param {string[]} command
 * @param {RunOptions} options
 * @returns {Promise<string>} what it printed on standard output
 */
export async function run(step, command, { timeoutMs = 300_000, ...options }) {
  const started = start(command, options);
  const timer = setTimeout(() => started.end('SIGKILL'), timeoutMs);
  const { reason, code } = await started.ended;
  clearTimeout(timer);
  if (code === 0) return started.stdout();
  const late = reason === 'SIGKILL' ? `, killed after ${timeoutMs / 1000} s` : '';
  throw new StepFailed(step, `\`${command.join(' ')}\` ended with ${reason}${late}`, started.output());
}

/**
 * Starts a command that stays.
 *
 * @param {string[]} command
 * @param {{ cwd: string, env?: Record<string, string>, input?: boolean }} options `input`: it reads what is written
 */
export function start([program, ...args], { cwd, env = {}, input = false }) {
  // In a group of its own, so that its end is also that of what it has started.
  const child = spawn(program, args, {
    cwd,
    env: { ...environment(), ...env },
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: !windows,
    shell: windows,
  });
  let stdout = '';
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    output += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
  /** @type {Promise<{ code: number | null, reason: string }>} */
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, reason: error.message }));
    child.once('close', (code, signal) => resolve({ code, reason: signal ?? `exit code ${code}` }));
  });
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    try {
      if (windows || child.pid === undefined) child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {
      // It has ended already.
    }
  };
  const ours = () => end('SIGKILL');
  process.prependOnceListener('exit', ours);
  void ended.then(() => process.off('exit', ours));
  /** @param {string} text */
  const write = (text) => child.stdin?.write(text);
  return { ended, end, write, stdout: () => stdout, output: () => output };
}

/** Without what npm tells its scripts about this workspace, and without its node_modules/.bin. */
function environment() {
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, CI: 'true', NO_COLOR: '1' };
  for (const name of Object.keys(env)) {
    if (
      /^(npm_(lifecycle|package)_|npm_config_local_prefix$|INIT_CWD$|NODE_OPTIONS$|NODE_PATH$|FORCE_COLOR$)/.test(name)
    ) {
      delete env[name];
    }
  }
  env.PATH = (env.PATH ?? '')
    .split(path.delimiter)
    .filter((folder) => !/[\\/]node_modules[\\/]/.test(`${folder}${path.sep}`))
    .join(path.delimiter);
  return env;
}

/**
 * Without colours, passwords, and the hosts that packages came from.
 *
 * @param {string} text
 */
function presentable(text) {
  return stripVTControlCharacters(text)
    .replace(/(postgres(?:ql)?:\/\/[^:@/\s]*):[^@/\s]*@/g, '$1:***@')
    .replace(/(https?:\/\/)(?!localhost|127\.0\.0\.1)[^\s/'"]+/g, '$1…')
    .replace(/\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT) (?!127\.|::1)\S+/g, '$1 …');
}
