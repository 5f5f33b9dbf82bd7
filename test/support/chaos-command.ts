/** The commands of test/chaos, as tests run them: in a process of their own, with the built package. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface CommandOutcome<Result> {
  readonly code: number | null;
  readonly result: Result;
}

/** Runs one with `--json`, on the test run's server unless it starts its own, and reads its result. */
export async function chaosCommand<Result>(script: string, ...options: string[]): Promise<CommandOutcome<Result>> {
  const file = path.join(__dirname, '../chaos', script);
  const child = spawn(process.execPath, [file, '--json', ...options], {
    env: { ...process.env, DATABASE_URL: process.env.WORKFLOWS_TEST_DATABASE_URL },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  try {
    return { code, result: JSON.parse(printed) as Result };
  } catch (error) {
    throw new Error(`${script} ended with exit code ${code} and without a result; it said:\n${said}`, { cause: error });
  }
}
