import type { AttemptRunner } from '../engine/attempt-runner.js';
import { fireDeadline } from '../engine/deadline.js';
import type { EngineParts } from '../engine/engine.parts.js';
import { join } from '../engine/join.js';
import type { ErrorReport } from '../observe/error-reporter.js';
import { dueJoins, LARGEST_JOIN, LARGEST_PATROL, unjoinedBatches } from '../store/batches.js';
import { isPassing } from '../store/patience.js';
import { FIRST_RUN } from '../store/run.js';
import { LARGEST_LOOK, nextDeadlineIn, passedDeadlines } from '../store/wait.js';
import { LookTimer } from './look-timer.js';
import { messageOf } from './message-of.js';
import { monotonic } from './monotonic.js';
import type { Peers } from './peers.js';
import { workflowLogger } from '../observe/log.js';

/** A `waitTimeout` that takes its time, at a notice, must not keep the deadlines of others. */
const FIRED_AT_ONCE = 4;
/** A deadline that could not be applied is tried again after this long, doubling up to the poll. */
const FIRST_RETRY_MS = 10;

/**
 * Looks after waiting runs: fires the deadlines that have passed, and joins the batches that others found to be over. It looks at every poll of
 * the dispatcher, and when the next deadline it knows of comes. One run that somebody holds, or that fails (which is logged), is passed over, for
 * this look.
 */
export class Watch {
  private readonly logger = workflowLogger;
  private readonly handlers: readonly string[];
  private readonly timer: LookTimer;
  private looking: Promise<void> | undefined;
  private again = false;
  private stopped = false;
  private failing = false;
  private retryPause = FIRST_RETRY_MS;
  private patrolledAt = -Infinity;
  /** The next patrol begins after this run. */
  private patrolAfter = FIRST_RUN;
  /** Rows whose deadline is being applied now. */
  private readonly firing = new Map<string, Promise<void>>();
  /** Rows that this look, or what the one before had begun, left as they are: whoever holds a run may be about to let it wait on. */
  private readonly left = new Set<string>();
  /** Errors on their way to the reporter: no deadline waits for them, but a stop does. */
  private readonly reports = new Set<Promise<void>>();

  constructor(
    private readonly parts: EngineParts,
    private readonly runner: AttemptRunner,
    private readonly pollInterval: number,
    peers: Peers,
  ) {
    this.timer = new LookTimer(() => this.look(), peers);
    this.handlers = parts.registry.workflowNames();
  }

  /** Looks now; while it looks already, once more after that. */
  look(): void {
    if (this.stopped) return;
    if (this.looking) {
      this.again = true;
      return;
    }
    this.looking = this.lookOnce()
      .catch((error: unknown) => this.lookFailed(error))
      .finally(() => {
        this.looking = undefined;
        if (!this.again) return;
        this.again = false;
        this.look();
      });
  }

  /** Everybody was told that there is something to join. */
  told(): void {
    if (!this.stopped) this.timer.fire();
  }

  /** A run was parked with this deadline. */
  lookIn(delay: number): void {
    if (!this.stopped) this.timer.in(delay);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer.stop();
    await this.looking;
    await Promise.all(this.firing.values());
    await Promise.all(this.reports);
  }

  private async lookOnce(): Promise<void> {
    const { database } = this.parts;
    this.timer.looked();
    this.retryPause = this.left.size ? Math.min(this.retryPause * 2, this.pollInterval) : FIRST_RETRY_MS;
    this.left.clear();
    for (;;) {
      const passed = await database.engineConnect((connection) =>
        passedDeadlines(connection, this.handlers, this.passedOver),
      );
      for (const { id, workflow_id: workflowId } of passed) {
        if (this.firing.size >= FIRED_AT_ONCE) await Promise.race(this.firing.values());
        if (this.stopped) return;
        this.firing.set(id, this.fire({ id, workflowId }));
      }
      await this.joinAll();
      if (this.stopped) return;
      if (passed.length < LARGEST_LOOK) break;
    }
    await this.patrol();
    const next = await database.engineConnect((connection) =>
      nextDeadlineIn(connection, this.handlers, this.passedOver),
    );
    if (next !== null) this.lookIn(next);
    if (this.failing) this.logger.log('The database answers again: waiting runs are looked after.');
    this.failing = false;
  }

  private get passedOver(): string[] {
    return [...this.left, ...this.firing.keys()];
  }

  private async joinAll(): Promise<void> {
    const tried: string[] = [];
    for (;;) {
      const due = await this.parts.database.engineConnect((connection) => dueJoins(connection, this.handlers, tried));
      for (const { id, workflow_id: workflowId } of due) {
        if (this.stopped) return;
        tried.push(id);
        await this.join({ id, workflowId });
      }
      if (due.length < LARGEST_JOIN) return;
    }
  }

  /**
   * Batches that have been over for a lease, and that nobody joined: whoever ended the last member was killed before he could. A page at a time, so that
   * many waiting batches cost each look the same.
   */
  private async patrol(): Promise<void> {
    const { database, worker } = this.parts;
    if (monotonic() - this.patrolledAt < worker.lease / 4) return;
    this.patrolledAt = monotonic();
    const page = await database.engineConnect((connection) =>
      unjoinedBatches(connection, this.handlers, this.patrolAfter, worker.lease),
    );
    this.patrolAfter = page.length < LARGEST_PATROL ? FIRST_RUN : page.at(-1)!.workflow_id;
    for (const { id, workflow_id: workflowId, unjoined } of page) {
      if (this.stopped) return;
      if (unjoined) await this.join({ id, workflowId });
    }
  }

  private async join(batch: { id: string; workflowId: string }): Promise<void> {
    try {
      this.report((await join(this.parts, batch, { ifFree: true }))?.report);
    } catch (error) {
      this.logger.error(
        `Joining the batch ${batch.id} of workflow ${batch.workflowId} failed, and is tried again: ${messageOf(error)}`,
      );
    }
  }

  private async fire(due: { id: string; workflowId: string }): Promise<void> {
    try {
      const { fired, nextDueIn, report } = await fireDeadline(this.parts, due);
      this.report(report);
      if (!fired) this.leave(due.id);
      else if (nextDueIn !== null) this.lookIn(nextDueIn);
    } catch (error) {
      if (isPassing(error)) this.lookFailed(error);
      else
        this.logger.error(
          `The deadline of workflow ${due.workflowId} could not be applied, and will be tried again: ${messageOf(error)}`,
        );
      this.leave(due.id);
    } finally {
      this.firing.delete(due.id);
    }
  }

  private leave(id: string): void {
    this.left.add(id);
    this.lookIn(this.retryPause);
  }

  private report(report: ErrorReport | null | undefined): void {
    if (!report) return;
    const reported = this.runner.report(report.error, report.context).finally(() => this.reports.delete(reported));
    this.reports.add(reported);
  }

  private lookFailed(error: unknown): void {
    if (!this.failing && !this.stopped) {
      this.logger.error(`Looking after waiting runs failed, and goes on at every poll: ${messageOf(error)}`);
    }
    this.failing = true;
  }
}
