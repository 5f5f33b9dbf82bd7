/**
 * Prometheus and promtool. Debian has both as `prometheus`; where they are not, the tests that need them are skipped, and say so.
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endsWithUs } from './ends-with-us';
import { freePort } from './free-port';

const START_TRIES = 400;

const areThere = ['prometheus', 'promtool'].every((program) => spawnSync(program, ['--version']).status === 0);

/** `describe`, where there are both. */
export const describeWithPrometheus: jest.Describe = areThere ? describe : skipLoudly();

function skipLoudly(): jest.Describe {
  console.warn('No prometheus and promtool here (apt-get install prometheus): their tests are skipped.');
  return describe.skip;
}

/** What promtool says, and whether it is content. */
export function promtool(...given: string[]): { ok: boolean; said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', given, { encoding: 'utf8' });
  return { ok: status === 0, said: stdout + stderr };
}

export interface Prometheus {
  /** What its HTTP API answers: `get('alerts')`. */
  readonly get: <Data>(what: string) => Promise<Data>;
  readonly stop: () => Promise<void>;
}

/** A server that scrapes `target` and evaluates `rules`, the text of a rules file, every 200 ms. It ends with this process, however that goes. */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-prometheus-'));
  const port = await freePort();
  writeFileSync(path.join(folder, 'rules.yml'), rules);
  writeFileSync(
    path.join(folder, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'app', static_configs: [{ targets: [target] }] }],
    }),
  );
  const server = spawn(
    'prometheus',
    ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  server.unref();
  const guard = endsWithUs(server, folder);
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
    }
    guard.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(server, `http://127.0.0.1:${port}/-/ready`);
  } catch (error) {
    await stop();
    throw error;
  }
  const get = async <Data>(what: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${what}`);
    return ((await response.json()) as { data: Data }).data;
  };
  return { get, stop };
}

async function untilReady(server: ChildProcess, url: string): Promise<void> {
  let log = '';
  server.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
  });
  for (let tries = 0; tries < START_TRIES && server.exitCode === null; tries += 1) {
    if (await fetch(url).then((response) => response.ok, () => false)) return; // prettier-ignore
    await pause(50);
  }
  throw new Error(`Prometheus did not start:\n${log}`);
}
