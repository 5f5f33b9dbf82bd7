import type { SchedulerRegistry } from '@nestjs/schedule';
import type { Attempt } from '../engine/attempt.js';
import type { AttemptRunner } from '../engine/attempt-runner.js';
import type { EngineParts } from '../engine/engine.parts.js';
import type { StepDefinition } from '../definition/definition.js';
import { claim, lanesInUse, type Claims } from '../store/claim.js';
import { stepKeys } from '../store/step-key.js';
import type { Announcement, Wakeup } from '../store/wakeup.js';
import type { WorkerSettings } from '../workflow.options.js';
import { Executor } from './executor.js';
import { InHand } from './in-hand.js';
import { inTime } from './in-time.js';
import { period } from './jitter.js';
import { Lanes } from './lanes.js';
import { LookTimer } from './look-timer.js';
import { messageOf } from './message-of.js';
import { monotonic } from './monotonic.js';
import { Ownership } from './ownership.js';
import type { Peers } from './peers.js';
import { Stalls } from './stalls.js';
import { Waiters } from './waiters.js';
import { Watch } from './watch.js';
import { workflowLogger } from '../observe/log.js';

/** Under this name Nest's `SchedulerRegistry` has the poll. */
const POLL_NAME = 'workflow-dispatcher';

/** A row that somebody else holds is looked for again after this long, doubling up to the poll. */
const FIRST_RETRY_MS = 10;
/** A claim of fewer rows costs nearly what one of so many does. */
const SMALLEST_HALF = 16;
/** What a body that obeys its `abortSignal` may take to end, at a stop. */
const ABORT_GRACE_MS = 2_000;
/** Steps that a run goes on in place before it lets the due rows of others in. */
const LONGEST_CHAIN = 16;

/** What `npm run bench` switches off to measure what it brings. */
export interface DispatcherModes {
  readonly settleInSets: boolean;
  readonly continueInPlace: boolean;
  readonly claimInSets: boolean;
}

/**
 * Claims due rows for its free slots and runs them.
 *
 * It looks again when it is told of a due row (by this process or another), when a slot gets free after a full claim, when the
 * earliest row it knows of comes due, and at every poll. Polling is what makes it right; the rest is speed. What many workers are
 * told of, a few look for at once.
 */
export class Dispatcher {
  private readonly logger = workflowLogger;
  private readonly lanes: Lanes;
  private readonly inHand: InHand;
  private readonly executor: Executor;
  private readonly watch: Watch;
  /** Compares what the renewal lists with what is in hand. */
  readonly ownership: Ownership;
  /** Declares stalled what leases and sweep find. */
  readonly stalls: Stalls;
  private readonly handlers: readonly string[];
  private readonly plainSteps: readonly string[];
  private readonly gatedSteps: readonly string[];
  private readonly idle = new Waiters();
  private stopListening: (() => void) | undefined;
  private readonly timer: LookTimer;
  private retryPause = FIRST_RETRY_MS;
  private wanted = false;
  private claiming = false;
  private stopping = false;
  /** Why claims fail, and since when (`monotonic()`); null: they do not. */
  failing: { readonly since: number; readonly reason: string } | null = null;
  private takingUp = false;
  /** A poll waits for the database: the next does not queue behind it. */
  private polling = false;
  /** When the database last answered a poll or a claim (`monotonic()`); null: not yet. */
  lookedAt: number | null = null;
  /** The last claim filled every slot: there may be more. */
  private more = false;
  /** The smallest priority announced while no slot was free: chains of larger ones give way to it. */
  private pressing = Infinity;

  constructor(
    private readonly parts: EngineParts,
    private readonly settings: WorkerSettings,
    runner: AttemptRunner,
    private readonly wakeup: Wakeup,
    private readonly scheduler: SchedulerRegistry,
    private readonly modes: DispatcherModes,
    peers: Peers,
  ) {
    const { registry, settings: all } = parts;
    this.lanes = new Lanes(registry, all.queue, settings.queues && new Set(settings.queues));
    this.inHand = new InHand(all.stallThreshold);
    const host = {
      goesOn: this.goesOn,
      isStopping: () => this.stopping,
      slotFreed: () => this.slotFreed(),
      databaseFailed: (error: unknown) => this.claimFailed(error),
      guardedClaimed: (passedOver: boolean) => (passedOver ? this.lookSoon() : this.gotOne()),
      parked: (deadlineIn: number) => this.watch.lookIn(deadlineIn),
    };
    this.executor = new Executor(parts, runner, this.inHand, host, wakeup, modes.settleInSets);
    this.watch = new Watch(parts, runner, settings.pollInterval, peers);
    this.timer = new LookTimer(() => this.look(), peers);
    this.ownership = new Ownership(this.inHand, (ids) => void this.takeUp(ids));
    this.stalls = new Stalls(parts, runner, (end) => this.executor.settleMember(end));
    this.handlers = registry.handlerNames();
    this.plainSteps = stepKeys(registry.all(), (step) => step.plain);
    this.gatedSteps = stepKeys(registry.all(), (step) => step.gated);
  }

  start(): void {
    this.stopListening = this.wakeup.listen((announcement, from) => this.heard(announcement, from));
    const poll = setInterval(() => void this.poll(), period(this.settings.pollInterval));
    this.scheduler.addInterval(POLL_NAME, poll);
    void this.poll();
  }

  /** Claims no more, waits for bodies up to the grace, asks the rest to stop, and waits for what obeys. True: some do not. */
  async stop(): Promise<boolean> {
    this.stopping = true;
    this.stopListening?.();
    if (this.scheduler.doesExist('interval', POLL_NAME)) this.scheduler.deleteInterval(POLL_NAME);
    this.timer.stop();
    const { shutdownGrace } = this.settings;
    // A look may be under way on a connection that never answers.
    const looks = inTime(Promise.all([this.watch.stop(), this.stalls.stop()]), shutdownGrace);
    if (await this.idleWithin(shutdownGrace)) return !(await looks);
    this.logger.warn(
      `Stopping: ${this.inHand.size} still in hand after shutdownGrace (${this.settings.shutdownGrace} ms); ` +
        'abortSignal is aborted now.',
    );
    this.inHand.abortAll(new Error('The worker is shutting down'));
    if (await this.idleWithin(ABORT_GRACE_MS)) return !(await looks);
    this.logger.warn(
      `Stopped, with ${this.inHand.size} not settled: bodies that do not end, or ends that could not be stored. Rows in progress are left to other ` +
        'workers, as stalled; claims whose guards were at work are rolled back, and claimed again.',
    );
    return true;
  }

  /** Looks now: something may have been missed. */
  look(): void {
    this.wanted = true;
    void this.claimLoop();
  }

  private async poll(): Promise<void> {
    if (this.stopping || this.polling) return;
    this.polling = true;
    this.watch.look();
    try {
      this.lanes.replaceFound(await this.parts.database.engineConnect((connection) => lanesInUse(connection)));
      this.lookedAt = monotonic();
    } catch (error) {
      this.claimFailed(error);
      return;
    } finally {
      this.polling = false;
    }
    this.look();
  }

  private heard(announcement: Announcement, from: 'here' | 'elsewhere'): void {
    if (announcement.kind === 'cancelled') {
      this.inHand.abort(announcement.stepId, new Error('The run was cancelled, or sent to another step'));
      return;
    }
    if (announcement.kind === 'join') {
      if (this.parts.registry.get(announcement.workflow)) this.watch.told();
      return;
    }
    const { queue, priority, dueIn, rows } = announcement;
    if (!this.lanes.serves(queue)) return;
    this.lanes.add({ queue, priority });
    if (dueIn > 0) return this.lookIn(dueIn);
    this.pressing = Math.min(this.pressing, priority);
    // Without a free slot it looks as soon as there is one. What this process made due it looks for before others have heard of it.
    if (from === 'here' || !this.hasFreeSlot) this.look();
    else this.timer.fire(rows);
  }

  /** Claims while it is asked to and has free slots; one claim at a time. */
  private async claimLoop(): Promise<void> {
    if (this.claiming) return;
    this.claiming = true;
    try {
      while (this.wanted && !this.stopping) {
        // Slots that are freed in the same turn of the event loop are filled together: a claim of one row costs nearly what one of
        // many does.
        await new Promise(setImmediate);
        const free = this.settings.concurrency - this.inHand.slots;
        if (free <= 0 || this.stopping) break;
        this.wanted = false;
        this.timer.looked();
        await this.claimOnce(free);
      }
    } finally {
      this.claiming = false;
      this.checkIdle();
    }
  }

  private async claimOnce(free: number): Promise<void> {
    const { database, worker } = this.parts;
    const filter = {
      lanes: this.lanes.inOrder(),
      handlers: this.handlers,
      plainSteps: this.plainSteps,
      gatedSteps: this.gatedSteps,
      inHand: this.inHand.guardedIds,
    };
    try {
      await this.inHand.claiming(async () => {
        const most = this.modes.claimInSets ? Math.min(free, this.largestClaim) : 1;
        const claims = await database.engineConnect((connection) => claim(connection, filter, worker, most));
        this.answered();
        for (const row of claims.plain) this.executor.runClaimed(row);
        for (const row of claims.members) this.executor.runMember(row);
        // These are not claimed yet: a stop that began meanwhile leaves them to the others.
        if (!this.stopping) for (const due of claims.guarded) void this.executor.runGuarded(due);
        this.more = claims.full;
        this.lookAgain(claims);
      });
    } catch (error) {
      this.claimFailed(error);
    }
  }

  /** Rows that were claimed for us while the answer was lost, as far as there are slots; the others are listed again. */
  private async takeUp(ids: readonly string[]): Promise<void> {
    const free = this.settings.concurrency - this.inHand.slots;
    if (this.takingUp || this.stopping || free <= 0) return;
    this.takingUp = true;
    try {
      await this.executor.takeUp(ids.slice(0, free));
    } catch (error) {
      this.logger.error(
        `Steps that were claimed for this worker could not be taken up, and will be: ${messageOf(error)}`,
      );
    } finally {
      this.takingUp = false;
    }
  }

  private answered(): void {
    if (this.failing) this.logger.log('Due steps are claimed again.');
    this.failing = null;
    this.lookedAt = monotonic();
  }

  /** At once after a full claim; soon, when somebody else holds a due row; when the next one comes due. */
  private lookAgain({ full, nextDueIn, plain, members }: Claims & { full: boolean }): void {
    if (full) {
      this.wanted = true;
      return;
    }
    this.pressing = Infinity;
    if (plain.length || members.length) this.gotOne();
    if (nextDueIn === null) return;
    if (nextDueIn > 0) return this.lookIn(nextDueIn);
    this.lookSoon();
  }

  /** Somebody holds a due row. */
  private lookSoon(): void {
    this.lookIn(this.retryPause);
    this.retryPause = Math.min(this.retryPause * 2, this.settings.pollInterval);
  }

  private gotOne(): void {
    this.retryPause = FIRST_RETRY_MS;
  }

  private lookIn(delay: number): void {
    if (!this.stopping) this.timer.in(delay);
  }

  /**
   * Half the slots: what is claimed at once ends at once, and is settled in one set. Two sets that take turns keep the server and this process at work
   * at the same time.
   */
  private get largestClaim(): number {
    return Math.max(SMALLEST_HALF, Math.ceil(this.settings.concurrency / 2));
  }

  private get hasFreeSlot(): boolean {
    return this.inHand.slots < this.settings.concurrency;
  }

  /** Whether to go on with the next step in place: while nobody more urgent waits, and not for ever. */
  private readonly goesOn = (attempt: Attempt, next: StepDefinition): boolean => {
    const queue = next.jobOptions.queue ?? this.parts.settings.queue;
    return (
      this.modes.continueInPlace &&
      !this.stopping &&
      attempt.chain < LONGEST_CHAIN &&
      (next.jobOptions.priority ?? 0) <= this.pressing &&
      this.lanes.serves(queue)
    );
  };

  private slotFreed(): void {
    if (this.more) this.wanted = true;
    if (this.wanted) void this.claimLoop();
    this.checkIdle();
  }

  private claimFailed(error: unknown): void {
    // A stop does not wait for a poll, which may find its connection closed.
    if (this.stopping) return;
    const reason = messageOf(error);
    if (!this.failing) this.logger.error(`Looking for due steps failed, and goes on at every poll: ${reason}`);
    this.failing = { since: this.failing?.since ?? monotonic(), reason };
  }

  private checkIdle(): void {
    if (this.isIdle) this.idle.reached();
  }

  private get isIdle(): boolean {
    return !this.inHand.size && !this.claiming;
  }

  private async idleWithin(limit: number): Promise<boolean> {
    return this.isIdle || this.idle.within(limit);
  }
}
