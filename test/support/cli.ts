/** The command-line tool as a process, as `npx` starts it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';

const root = path.join(__dirname, '../..');
export const BIN = path.join(root, 'libs/workflow/dist/cli/main.js');
export const APP = path.join(__dirname, 'cli-app.mjs');
/** What does not end by itself is ended: a tool that hangs fails its test. */
const PATIENCE_MS = 110_000;

/** A build takes as long as the machine is busy. */
export const BUILD_MS = 300_000;

export interface CliAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON. */
  readonly json: any;
}

export interface CliOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** The file that is started. */
  readonly bin?: string;
  /** The file of the application's module; null: it is the tool's to find. */
  readonly app?: string | null;
}

/** Runs it to its end. The package is built (`ensureBuilt`). */
export async function cli(
  args: readonly string[],
  { env = {}, cwd = root, stdin = '', bin = BIN, app = APP }: CliOptions = {},
): Promise<CliAnswer> {
  const all = app === null ? args : [...args, '--app', app];
  const child = spawn(process.execPath, [bin, ...all], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: PATIENCE_MS,
    killSignal: 'SIGKILL',
  });
  child.stdin.on('error', () => undefined).end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return {
    code,
    stdout,
    stderr,
    get json() {
      return JSON.parse(stdout);
    },
  };
}
