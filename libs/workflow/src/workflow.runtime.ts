import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { AttemptRunner } from './engine/attempt-runner.js';
import { ENGINE_PARTS, type EngineParts } from './engine/engine.parts.js';
import type { Database } from './store/database.js';
import { Notifier } from './store/notifier.js';
import { checkSchema } from './store/schema-check.js';
import type { Wakeup } from './store/wakeup.js';
import type { WorkerSettings } from './workflow.options.js';
import { Dispatcher, type DispatcherModes } from './worker/dispatcher.js';
import { inTime } from './worker/in-time.js';
import { Leases } from './worker/leases.js';
import { Listener, testEvery, type ListenState } from './worker/listener.js';
import { kindOf, Peers } from './worker/peers.js';
import { schedulerRegistry } from './worker/scheduler.js';
import { Sweeper } from './worker/sweeper.js';
import { workflowLogger } from './observe/log.js';

/** Injection token of the bus that wakes the worker. */
export const WAKEUP = Symbol('WAKEUP');
/** Injection token of the modes that the benchmark switches off. */
export const DISPATCHER_MODES = Symbol('DISPATCHER_MODES');

/** What runs in the background of a worker, as of now. Moments are of the monotonic clock; null: not yet. */
export interface RuntimeState {
  readonly lookedAt: number | null;
  /** Why claims fail, and since when. */
  readonly failing: { readonly since: number; readonly reason: string } | null;
  readonly listener: ListenState;
  readonly renewedAt: number | null;
  readonly sweptAt: number | null;
}

/** Starts and stops what runs in the background: the notifier and, in a worker, listener and dispatcher. */
@Injectable()
export class WorkflowRuntime implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = workflowLogger;
  private notifier: Notifier | undefined;
  private listener: Listener | undefined;
  private dispatcher: Dispatcher | undefined;
  private leases: Leases | undefined;
  private sweeper: Sweeper | undefined;

  constructor(
    @Inject(ENGINE_PARTS) private readonly parts: EngineParts,
    @Inject(WAKEUP) private readonly wakeup: Wakeup,
    @Inject(DISPATCHER_MODES) private readonly modes: DispatcherModes,
    private readonly moduleRef: ModuleRef,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { database, settings, registry } = this.parts;
    // Looked for now, in a process without a worker too: what cannot be right must fail the boot.
    registry.all();
    const notice = await database.connect((connection) => checkSchema(connection, database.dataSource));
    if (notice !== null) this.logger.warn(notice);
    const notifier = await this.open();
    if (settings.worker) await this.startWorker(settings.worker, database, notifier);
  }

  /**
   * What a process needs that acts on runs and works none: it knows how its connections behave, and tells the workers. `onModuleDestroy` closes it. The
   * command-line tool does without the rest.
   */
  async open(): Promise<Notifier> {
    const { database } = this.parts;
    const isolation = await database.readServer();
    if (isolation !== 'read committed') {
      this.logger.warn(
        `The database's default_transaction_isolation is "${isolation}". The engine's own transactions say READ COMMITTED; those you ` +
          'pass as manager keep theirs, and a concurrent duplicate start fails them with 40001, to be retried whole.',
      );
    }
    return (this.notifier = new Notifier(database, this.wakeup, (error) =>
      this.logger.warn(`Other processes could not be notified, they will poll: ${String(error)}`),
    ));
  }

  /**
   * Claims no more, waits for bodies, aborts the rest, sends what is to be sent, and closes. Leases are renewed to the end: a body that takes its
   * time over the grace is not dead.
   */
  async onModuleDestroy(): Promise<void> {
    const { worker } = this.parts.settings;
    const swept = inTime(Promise.resolve(this.sweeper?.stop()), worker ? worker.shutdownGrace : 0);
    const bodiesLeft = (await this.dispatcher?.stop()) ?? false;
    const allEnded = (await swept) && !bodiesLeft;
    await this.notifier?.close();
    await this.listener?.close();
    await this.leases?.stop();
    this.parts.database.release({ bodiesLeft: !allEnded });
  }

  /** What the health check asks. */
  get state(): RuntimeState | null {
    const { dispatcher, leases, sweeper } = this;
    if (!dispatcher || !leases || !sweeper) return null;
    return {
      lookedAt: dispatcher.lookedAt,
      failing: dispatcher.failing,
      listener: this.listener?.state ?? 'off',
      renewedAt: leases.renewedAt,
      sweptAt: sweeper.sweptAt,
    };
  }

  /** Sweeps now, in a worker. */
  async sweep(): Promise<void> {
    await this.sweeper?.sweep();
  }

  private async startWorker(settings: WorkerSettings, database: Database, notifier: Notifier): Promise<void> {
    this.warnOfNarrowShare(database);
    const runner = new AttemptRunner(this.parts);
    const scheduler = schedulerRegistry(this.moduleRef);
    const peers = this.peers(settings);
    const dispatcher = new Dispatcher(this.parts, settings, runner, this.wakeup, scheduler, this.modes, peers);
    this.dispatcher = dispatcher;
    if (settings.listen !== false) {
      this.listener = new Listener(database.dataSource, database.tables, notifier, this.wakeup, {
        url: typeof settings.listen === 'string' ? settings.listen : null,
        notify: (channel, payload) => notifier.sendByPool(channel, [payload]),
        pollInterval: settings.pollInterval,
        peers,
        reconnected: () => dispatcher.look(),
      });
      await this.listener.open();
    }
    this.leases = new Leases(this.parts, {
      held: (sentAt, rows) => dispatcher.ownership.compare(sentAt, rows),
      lapsed: (rows) => dispatcher.stalls.lapsed(rows),
    });
    this.leases.start();
    this.sweeper = new Sweeper(this.parts, runner, dispatcher.stalls, this.wakeup, scheduler);
    this.sweeper.start();
    dispatcher.start();
  }

  /** Who missed two self-tests in a row is gone. */
  private peers({ queues, pollInterval }: WorkerSettings): Peers {
    const { registry } = this.parts;
    return new Peers(kindOf(queues, registry.handlerNames()), testEvery(pollInterval) * 2.5);
  }

  /** With one connection, whatever holds it while the application's code runs keeps claims and settlements waiting. */
  private warnOfNarrowShare({ engineConnections }: Database): void {
    if (engineConnections > 1) return;
    const holders = this.parts.registry
      .all()
      .filter(({ definition }) => definition.steps.some(({ kind, plain }) => kind !== 'removed' && !plain));
    if (!holders.length) return;
    const names = holders.map(({ definition }) => definition.name).join(', ');
    this.logger.warn(
      `The engine may hold one connection of the pool ("worker.connections", or half of "poolSize"). Guards and transactional steps (${names}) ` +
        'hold it while their code runs, and nothing else is claimed or settled meanwhile. Give the pool at least 4 connections.',
    );
  }
}
