import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { EngineParts } from '../engine/engine.parts.js';
import { clientConfig, directClient, portableConfig, type ClientConfig } from '../store/client-config.js';
import { leaseTexts, type HeldRow } from '../store/leases.js';
import { LeaseKeeper, type LeaseReport, type LeaseTask } from './lease-keeper.js';
import { messageOf } from './message-of.js';
import { monotonic } from './monotonic.js';
import { workflowLogger } from '../observe/log.js';

/** Beside this file in the built package; nowhere when an application was bundled into one file. */
const THREAD_FILE = path.join(__dirname, 'lease-thread.js');
/** A thread that does not end by itself is ended. */
const THREAD_END_MS = 2_000;

/** Who has the lease keeper running: a thread, or this one. */
interface Running {
  readonly stop: () => Promise<void>;
}

/**
 * Keeps this worker's leases: in a thread with a connection of its own, so that a body which blocks the event loop does not look dead. Where a
 * thread cannot have the connection's settings (a function as password), or its file, this thread does it, and that is said once.
 */
export class Leases {
  /** When a renewal was last answered (`monotonic()`); null: not yet. */
  renewedAt: number | null = null;
  /** Where the keeper runs. */
  place: 'thread' | 'main' | 'none' = 'none';
  private readonly logger = workflowLogger;
  private readonly task: LeaseTask;
  private readonly config: ClientConfig;
  private running: Running | undefined;
  private standIn: NodeJS.Timeout | undefined;
  private standingIn = false;
  private stopped = false;

  constructor(
    private readonly parts: EngineParts,
    private readonly host: {
      readonly held: (sentAt: number, rows: readonly (readonly [id: string, claimNo: number])[]) => void;
      readonly lapsed: (rows: Extract<LeaseReport, { kind: 'lapsed' }>['rows']) => void;
    },
  ) {
    const { database, worker, registry } = parts;
    this.task = {
      workerId: worker.id,
      lease: worker.lease,
      handlers: registry.handlerNames(),
      texts: leaseTexts(database.tables),
      readCommitted: database.readCommittedByDefault,
    };
    this.config = clientConfig(database.dataSource, applicationName(parts));
  }

  start(): void {
    if (!existsSync(THREAD_FILE))
      return this.startHere(`there is no file ${path.basename(THREAD_FILE)} beside the package's`);
    try {
      this.running = this.startThread();
      this.place = 'thread';
    } catch (error) {
      // Its message would show the settings, which may hold a password.
      const { name } = error as Error;
      this.startHere(
        name === 'DataCloneError'
          ? "the connection's settings hold a function, or what else no thread can be given"
          : messageOf(error),
      );
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.place = 'none';
    clearInterval(this.standIn);
    await this.running?.stop();
  }

  private startThread(): Running {
    const thread = new Worker(THREAD_FILE, {
      name: 'workflow leases',
      workerData: { config: portableConfig(this.config), task: this.task },
      // What the application was started with (a debugger, a loader of its own) is not for this thread.
      execArgv: [],
    });
    thread.unref();
    thread.on('message', (report: LeaseReport) => this.hear(report));
    const ended = new Promise<void>((resolve) => {
      thread.once('exit', () => {
        resolve();
        if (!this.stopped && this.place === 'thread') this.startHere('the thread ended');
      });
    });
    thread.once('error', (error) => {
      if (!this.stopped && this.place === 'thread') this.startHere(messageOf(error));
    });
    return {
      stop: async () => {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
        thread.postMessage('stop');
        const timer = setTimeout(() => void thread.terminate(), THREAD_END_MS);
        await ended;
        clearTimeout(timer);
      },
    };
  }

  private startHere(why: string): void {
    this.place = 'main';
    this.logger.warn(
      `Leases are renewed by the main thread (${why}): a step that blocks the event loop for longer than worker.lease ` +
        `(${this.task.lease} ms) looks dead to other workers.`,
    );
    const { dataSource } = this.parts.database;
    const keeper = new LeaseKeeper(
      () => directClient(dataSource, this.config),
      this.task,
      (report) => this.hear(report),
    );
    keeper.start();
    this.running = { stop: () => keeper.stop() };
  }

  /**
   * While the keeper's connection cannot be opened, though the pool's are there (the server has too many, say): a worker that lives must not look
   * dead.
   */
  private async renewByPool(): Promise<void> {
    if (this.standingIn) return;
    this.standingIn = true;
    const { workerId, lease, texts } = this.task;
    const sentAt = monotonic();
    try {
      const { rows } = await this.parts.database.engineConnect(({ client }) =>
        client.query({ text: texts.renew, values: [workerId, lease] }),
      );
      this.hear({ kind: 'held', sentAt, rows: (rows as HeldRow[]).map(({ id, claim_no }) => [id, claim_no]) });
    } catch {
      // The database itself is away: nobody judges anybody until it has been back for a while.
    } finally {
      this.standingIn = false;
    }
  }

  private hear(report: LeaseReport): void {
    if (this.stopped) return;
    switch (report.kind) {
      case 'held':
        this.renewedAt = monotonic();
        return this.host.held(report.sentAt, report.rows);
      case 'lapsed':
        return this.host.lapsed(report.rows);
      case 'lost':
        this.logger.warn(
          `Leases are not renewed over their own connection (${report.reason}); it is tried again and again, and meanwhile the pool's renew.`,
        );
        clearInterval(this.standIn);
        this.standIn = setInterval(() => void this.renewByPool(), this.task.lease / 3);
        return;
      case 'back':
        clearInterval(this.standIn);
        this.logger.log('Leases are renewed again.');
    }
  }
}

/** Shown by `pg_stat_activity`, which keeps 63 bytes: whose connection it is. */
function applicationName({ worker }: EngineParts): string {
  const [host, pid] = splitLabel(worker.label);
  const revision = worker.appRevision ? ` ${worker.appRevision.slice(0, 12)}` : '';
  return `wf ${worker.id.slice(0, 8)} ${host.slice(0, 30)}:${pid}${revision}`;
}

function splitLabel(label: string): [string, string] {
  const at = label.lastIndexOf(':');
  return [label.slice(0, at), label.slice(at + 1)];
}
