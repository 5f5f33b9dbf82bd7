/** A worker as a process of its own, over the built package, that tests kill, stop and ask. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { WorkflowHandle, WorkflowModuleOptions } from 'nestjs-pg-workflows';
import { ensureBuilt } from './built';

const SCRIPT = path.join(__dirname, 'remote-process.mjs');
const PATIENCE_MS = 20_000;

export interface RemoteOptions {
  readonly url: string;
  readonly poolSize?: number;
  readonly settings?: WorkflowModuleOptions;
  readonly env?: Record<string, string>;
}

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Message =
  | { readonly kind: 'ready'; readonly now: number }
  | { readonly kind: 'reached'; readonly run: string }
  | { readonly kind: 'aborted'; readonly run: string; readonly reason: string }
  | { readonly kind: 'swept' }
  | { readonly kind: 'stopping' };

export class RemoteWorker {
  /** Once all that it said has been read. */
  readonly ended: Promise<Ended>;
  private readonly messages: Message[] = [];
  private text = '';
  private readyAt = 0;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (this.text += chunk));
    }
    child.on('message', (message: Message) => {
      if (message.kind === 'ready') this.readyAt = Date.now();
      this.messages.push(message);
    });
    this.ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal }));
  }

  /** Starts one, and waits until it works. */
  static async start({ url, poolSize = 10, settings = {}, env = {} }: RemoteOptions): Promise<RemoteWorker> {
    ensureBuilt();
    const worker = settings.worker === false ? false : { pollInterval: 50, ...settings.worker };
    const config = { url, poolSize, settings: { ...settings, worker } };
    const child = spawn(process.execPath, ['--enable-source-maps', SCRIPT], {
      env: { ...process.env, ...env, REMOTE_WORKER: JSON.stringify(config), NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const remote = new RemoteWorker(child);
    await remote.says((message) => message.kind === 'ready');
    return remote;
  }

  /** The process of the worker itself. */
  get pid(): number {
    return this.child.pid!;
  }

  /** What it wrote to its log. */
  get log(): string {
    return this.text;
  }

  /** By how many milliseconds its clock was ahead of ours as it began to work. */
  get ahead(): number {
    const ready = this.messages.find((message) => message.kind === 'ready')!;
    return ready.now - this.readyAt;
  }

  /** Waits until the run's code (a body, a guard, a job) is at work there. */
  async reached(...runs: readonly WorkflowHandle[]): Promise<void> {
    for (const { id } of runs) await this.says((message) => message.kind === 'reached' && message.run === id);
  }

  /** What the abortSignals told that aborted, by run. */
  get aborted(): ReadonlyMap<string, string> {
    return new Map(
      this.messages.flatMap((message) => (message.kind === 'aborted' ? [[message.run, message.reason]] : [])),
    );
  }

  async sweep(): Promise<void> {
    const before = this.messages.length;
    this.child.send('sweep');
    await this.says((message) => message.kind === 'swept', before);
  }

  /** Asks it to stop, as an orchestrator does. `stopping`: what is to be done once it has begun to. */
  async terminate(stopping: () => void = () => undefined): Promise<Ended> {
    this.child.kill('SIGTERM');
    await this.says((message) => message.kind === 'stopping');
    stopping();
    return this.ended;
  }

  /** Has it close its application and then end by itself. */
  async close(): Promise<Ended> {
    this.child.send('close');
    return this.ended;
  }

  /** Ends it where it stands. */
  async kill(): Promise<Ended> {
    this.child.kill('SIGKILL');
    return this.ended;
  }

  private async says(matches: (message: Message) => boolean, from = 0): Promise<Message> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    const over = this.ended.then(() => 'over' as const);
    for (;;) {
      const found = this.messages.slice(from).find(matches);
      if (found) return found;
      const next = once(this.child, 'message', { signal: deadline }).catch(() => 'over' as const);
      if ((await Promise.race([next, over])) === 'over')
        throw new Error(`The worker process did not say so. Its log:\n${this.text}`);
    }
  }
}

/** A file that bodies wait for, in a folder of its own. */
export class Mark {
  private readonly folder = mkdtempSync(path.join(tmpdir(), 'workflows-mark-'));
  readonly path = path.join(this.folder, 'go');

  set(): void {
    writeFileSync(this.path, '');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
