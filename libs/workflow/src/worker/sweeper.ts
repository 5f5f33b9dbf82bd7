import type { SchedulerRegistry } from '@nestjs/schedule';
import type { AttemptRunner } from '../engine/attempt-runner.js';
import type { EngineParts } from '../engine/engine.parts.js';
import { join } from '../engine/join.js';
import { resolveStranded } from '../engine/stranded-wait.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import type { Connection } from '../store/connection.js';
import { sweepKey } from '../store/leases.js';
import { sqlStateOf } from '../store/sql-state.js';
import { deleteRuns, endedRuns, RETENTION_PAGE, type EndedRun } from '../store/retention.js';
import {
  hungRows,
  laneAges,
  PAGE,
  strandedWaits,
  trySweepLock,
  waitingBatches,
  type SweptRow,
} from '../store/sweep.js';
import { stepKey, stepKeys } from '../store/step-key.js';
import type { Wakeup } from '../store/wakeup.js';
import { messageOf } from './message-of.js';
import { monotonic } from './monotonic.js';
import type { Stalls } from './stalls.js';
import { workflowLogger } from '../observe/log.js';

/** Under this name Nest's `SchedulerRegistry` has the sweep. */
const SWEEP_NAME = 'workflow-sweeper';

/** How often ended runs are deleted; more often when they are kept for less. */
const RETENTION_EVERY_MS = 60 * 60 * 1_000;

/** What is said of single runs that cannot be deleted, in one sweep. */
const MOST_LINES = 10;

/**
 * Finds what everything else missed, every `sweepInterval`: bodies that hang, waits that the class no longer has, batches whose end
 * nobody noticed, due rows that nobody takes, ended runs past their retention.
 *
 * In pages, each run in a transaction of its own, with its condition asked again under the lock. A row that fails is logged and passed over until the
 * next sweep. Classes that this process does not have are left alone. Of several processes one sweeps at a time; nothing but the work depends on that.
 */
export class Sweeper {
  /** When a sweep last ended here (`monotonic()`); null: none did yet. */
  sweptAt: number | null = null;
  private readonly logger = workflowLogger;
  private readonly workflows: readonly string[];
  private readonly handlers: readonly string[];
  private readonly timeouts: readonly { readonly key: string; readonly ms: number }[];
  private readonly steps: { readonly waiting: readonly string[]; readonly declared: readonly string[] };
  private retentionAt = -Infinity;
  private sweeping: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly parts: EngineParts,
    private readonly runner: AttemptRunner,
    private readonly stalls: Stalls,
    private readonly wakeup: Wakeup,
    private readonly scheduler: SchedulerRegistry,
  ) {
    const { registry } = parts;
    this.workflows = registry.workflowNames();
    this.handlers = registry.handlerNames();
    const loaded = registry.all();
    this.timeouts = loaded.flatMap(({ definition: { name, steps } }) =>
      steps.flatMap((step) => (step.timeout === null ? [] : [{ key: stepKey(name, step.name), ms: step.timeout }])),
    );
    this.steps = {
      waiting: stepKeys(loaded, (step) => step.waitFor !== null),
      declared: stepKeys(loaded, (step) => step.kind !== 'removed'),
    };
  }

  start(): void {
    const interval = setInterval(() => void this.sweep(), this.parts.settings.sweepInterval);
    this.scheduler.addInterval(SWEEP_NAME, interval);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.scheduler.doesExist('interval', SWEEP_NAME)) this.scheduler.deleteInterval(SWEEP_NAME);
    await this.sweeping;
  }

  /** Sweeps now, unless another process is at it; while this one sweeps already, waits for that. */
  sweep(): Promise<void> {
    this.sweeping ??= this.exclusively((connection) => this.sweepAll(connection))
      .catch((error: unknown) => this.logger.error(`The sweep failed, and is tried again: ${messageOf(error)}`))
      .finally(() => {
        this.sweeping = undefined;
      });
    return this.sweeping;
  }

  /**
   * While it sweeps, a transaction that does nothing else holds the lock: it has no snapshot, so it keeps no dead row alive, and PostgreSQL ends
   * it when this machine vanishes. With one connection there is none to hold it by.
   */
  private async exclusively(sweep: (lock: Connection | null) => Promise<void>): Promise<void> {
    const { database } = this.parts;
    if (database.engineConnections < 2) return sweep(null);
    await database.engineTransaction(async ({ connection }) => {
      if (await trySweepLock(connection, sweepKey(database.tables))) await sweep(connection);
    });
  }

  private async sweepAll(lock: Connection | null): Promise<void> {
    const { settings } = this.parts;
    const tasks: [string, () => Promise<void>][] = [
      ['steps in progress for too long', () => this.stallHung(lock)],
      ['runs that wait where their class does not', () => this.resolveStranded(lock)],
      ['batches whose end nobody noticed', () => this.joinEnded(lock)],
      ['due steps that nobody takes', () => this.announceOverdue()],
      ['ended runs', () => this.deleteEnded(lock, settings.retention)],
    ];
    for (const [what, task] of tasks) {
      if (this.stopped) return;
      await task().catch((error: unknown) =>
        this.logger.error(`Sweeping ${what} failed; the rest of the sweep goes on: ${messageOf(error)}`),
      );
    }
    this.sweptAt = monotonic();
  }

  private async stallHung(lock: Connection | null): Promise<void> {
    const { stallThreshold } = this.parts.settings;
    for (let after = '0'; ;) {
      const page = await this.read((connection) =>
        hungRows(connection, this.handlers, this.timeouts, stallThreshold, after),
      );
      await this.stalls.declareAll(page, 'sweep');
      if (page.length < PAGE || !(await this.goesOn(lock))) return;
      after = page.at(-1)!.id;
    }
  }

  private resolveStranded(lock: Connection | null): Promise<void> {
    return this.eachRun(
      lock,
      (connection, after) => strandedWaits(connection, this.workflows, this.steps, after),
      (row) => resolveStranded(this.parts, row),
    );
  }

  private joinEnded(lock: Connection | null): Promise<void> {
    const { stallThreshold } = this.parts.settings;
    return this.eachRun(
      lock,
      (connection, after) => waitingBatches(connection, this.workflows, stallThreshold, after),
      async (row) => (await join(this.parts, row, { ifFree: true }))?.report ?? null,
    );
  }

  private async eachRun(
    lock: Connection | null,
    pageOf: (connection: Connection, after: string | null) => Promise<(SweptRow & { readonly missed?: boolean })[]>,
    handle: (row: { id: string; workflowId: string }) => Promise<ErrorReport | null>,
  ): Promise<void> {
    for (let after: string | null = null; ;) {
      const page: Awaited<ReturnType<typeof pageOf>> = await this.read((connection) => pageOf(connection, after));
      for (const { id, workflow_id: workflowId, missed = true } of page) {
        if (this.stopped) return;
        if (!missed) continue;
        await handle({ id, workflowId })
          .then((report) => this.report(report))
          .catch((error: unknown) =>
            this.logger.error(
              `Workflow ${workflowId} could not be swept, and is left to the next sweep: ${messageOf(error)}`,
            ),
          );
      }
      if (page.length < PAGE || !(await this.goesOn(lock))) return;
      after = page.at(-1)!.workflow_id;
    }
  }

  /** A due row is found by every poll of a worker that serves its lane; announced again, it is found at once. */
  private async announceOverdue(): Promise<void> {
    const { stallThreshold } = this.parts.settings;
    for (const { queue, priority, due_for: dueFor } of await this.read(laneAges)) {
      if (dueFor > stallThreshold) this.wakeup.announce([{ kind: 'due', queue, priority, dueIn: 0 }]);
    }
  }

  private async deleteEnded(lock: Connection | null, retention: number | null): Promise<void> {
    if (retention === null || monotonic() - this.retentionAt < Math.min(RETENTION_EVERY_MS, retention)) return;
    let kept = 0;
    for (let after: EndedRun | null = null; ;) {
      const page: EndedRun[] = await this.read((connection) => endedRuns(connection, this.workflows, retention, after));
      kept += await this.deletePage(
        page.filter(({ busy }) => !busy).map(({ id }) => id),
        kept,
      );
      if (page.length < RETENTION_PAGE) break;
      if (!(await this.goesOn(lock))) return;
      after = page.at(-1)!;
    }
    if (kept > MOST_LINES)
      this.logger.error(`${kept} ended runs could not be deleted; the first ${MOST_LINES} are named above.`);
    this.retentionAt = monotonic();
  }

  /** What the database refuses to delete (a foreign key of the application's) must not keep the others. Returns how many it refused. */
  private async deletePage(ids: readonly string[], kept: number): Promise<number> {
    try {
      if (ids.length) await this.read((connection) => deleteRuns(connection, ids));
      return 0;
    } catch (error) {
      if (sqlStateOf(error) === undefined) throw error;
      if (ids.length === 1) {
        if (kept < MOST_LINES)
          this.logger.error(
            `Workflow ${ids[0]} has ended, and could not be deleted, which each sweep tries again: ${messageOf(error)}`,
          );
        return 1;
      }
    }
    let refused = 0;
    for (const id of ids) if (!this.stopped) refused += await this.deletePage([id], kept + refused);
    return refused;
  }

  /** Between pages: a transaction that idles for a minute would be ended, and the lock with it. */
  private async goesOn(lock: Connection | null): Promise<boolean> {
    if (this.stopped) return false;
    await lock?.command('select 1');
    return true;
  }

  private read<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    return this.parts.database.engineConnect(use);
  }

  private async report(given: ErrorReport | null): Promise<void> {
    if (given) await this.runner.report(given.error, given.context);
  }
}
