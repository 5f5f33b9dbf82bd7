import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { AfterCommit } from './after-commit.js';
import { callersManager } from './callers-manager.js';
import { Connection, StatementTexts, transactionStatus, type DriverClient } from './connection.js';
import { Pool } from './pool.js';
import { Semaphore } from './semaphore.js';
import { isRetryable } from './sql-state.js';
import { SET_MARK, Transaction } from './transaction.js';
import { statement, type Tables } from './statement.js';
import type { Wakeup } from './wakeup.js';

const TRIES = 5;
/** A process that vanishes inside one of our transactions gives its locks back after this long. */
const IDLE_LIMIT_MS = 60_000;
/** Whoever waits for a run's lock in a transaction of the engine's asks again after this long. */
const LOCK_WAIT_MS = 30_000;
/** A statement of the engine's without an answer for this long is given up, with its connection. */
const ANSWER_MS = 60_000;
/** The same for a rollback, which has nothing to wait for. */
const ROLLBACK_MS = 10_000;
/** Calls of the application of which none ends for so long let one more in. */
const CALLERS_STANDSTILL_MS = 100;
const MAX_INT4 = 2_147_483_647;

const SERVER = statement(
  'server',
  () => `select current_setting('default_transaction_isolation') as level, pg_backend_pid() as pid`,
);
const CANCEL_QUERY = statement('cancel_query', () => 'select pg_cancel_backend($1::int)');

export interface DatabaseOptions {
  /** Connections the engine may hold at once. */
  readonly engineConnections: number;
  /** Connections that calls from the application may hold at once, besides transactions of its own. */
  readonly callersConnections: number;
  /** Finds the ambient transaction, when the application has such a thing. */
  readonly ambient?: () => EntityManager | undefined;
  /** Told of an effect after a commit that threw. */
  readonly failed: (error: unknown) => void;
  /** Told, once, that statements are no longer prepared under names. */
  readonly wentUnnamed?: () => void;
}

/**
 * Connections and transactions on the DataSource that holds the workflow tables.
 *
 * Transactions of our own say READ COMMITTED, whatever the database's default is, and are run again after a deadlock or
 * a serialization failure: what runs in them must be repeatable. The caller's transactions are joined, never opened,
 * ended or retried.
 */
export class Database {
  /** The engine's share of the pool. */
  readonly engineConnections: number;
  /** The application has closed: nothing is tried again. */
  released = false;
  private readonly pool: Pool;
  private readonly texts: StatementTexts;
  private readonly afterCommit: AfterCommit;
  private readonly engineShare: Semaphore;
  /**
   * The pool serves in the order in which it was asked: behind thousands of calls that were made at once, claims and settlements would wait for all of
   * them. A subject's loader may make a call within a call, and a transaction of the application's may hold what calls wait for: when none of them ends,
   * one more is let in.
   */
  private readonly callersShare: Semaphore;
  /** For what holds a connection while the application's code runs: one is always left for claims and settlements. */
  private readonly longShare: Semaphore;
  /** Whether single statements are at READ COMMITTED by themselves. */
  readCommittedByDefault = true;
  private pooled = false;
  /** Connections in which the application's code has a transaction of ours. */
  private readonly shared = new Set<Connection>();

  constructor(
    readonly dataSource: DataSource,
    readonly tables: Tables,
    private readonly wakeup: Wakeup,
    private readonly options: DatabaseOptions,
  ) {
    this.pool = new Pool(dataSource);
    this.engineConnections = options.engineConnections;
    this.texts = new StatementTexts(tables, options.wentUnnamed);
    this.afterCommit = new AfterCommit(options.failed);
    this.engineShare = new Semaphore(options.engineConnections);
    this.callersShare = new Semaphore(options.callersConnections, CALLERS_STANDSTILL_MS);
    this.longShare = new Semaphore(Math.max(1, options.engineConnections - 1));
    dataSource.subscribers.push(this.afterCommit);
    this.pool.hearErrors();
  }

  /** Takes back what the constructor left on the DataSource. `bodiesLeft`: bodies go on that were asked to end. */
  release({ bodiesLeft = false } = {}): void {
    this.released = true;
    // A body that does not end, whatever it is asked, must not keep the pool from closing.
    for (const connection of this.shared) connection.cut();
    if (bodiesLeft) this.pool.cutWhenItEnds();
    const at = this.dataSource.subscribers.indexOf(this.afterCommit);
    if (at >= 0) this.dataSource.subscribers.splice(at, 1);
    this.pool.hearErrorsNoMore();
  }

  /** A connection of the pool, each statement in a transaction of its own. */
  async connect<T>(use: (connection: Connection) => Promise<T>, answerWithin?: number): Promise<T> {
    const queryRunner = this.dataSource.createQueryRunner('master');
    try {
      return await use(await this.pool.inTime(answerWithin, this.connectionOf(queryRunner, answerWithin)));
    } finally {
      await queryRunner.release();
    }
  }

  /** For the engine's single statements: a connection within the worker's share of the pool, each at READ COMMITTED. */
  engineConnect<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    if (!this.readCommittedByDefault) return this.engineTransaction(({ connection }) => use(connection));
    return this.engineShare.hold(() => this.repeatedly(() => this.connect(use, ANSWER_MS)));
  }

  /**
   * The isolation level that connections of this pool begin with: single statements need a transaction around them when it is another than
   * ours. And whether the backend is the one that the connection was told of: if not, there is a pooler in between, which may give each transaction
   * another.
   */
  async readServer(): Promise<string> {
    return this.connect(async (connection) => {
      const [row] = await connection.run<{ level: string; pid: number }>(SERVER, []);
      const { processID } = connection.client;
      this.pooled = typeof processID === 'number' && processID !== row!.pid;
      if (this.pooled) this.texts.goUnnamed();
      this.readCommittedByDefault = row!.level === 'read committed';
      return row!.level;
    });
  }

  /** Runs `use` in a transaction of our own, again when it met a deadlock. */
  transaction<T>(use: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.callersShare.hold(() =>
      this.repeatedly(() => this.connect((connection) => this.ownTransaction(connection, use, ''))),
    );
  }

  private async repeatedly<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await run();
      } catch (error) {
        if (attempt === TRIES || !isRetryable(error)) throw error;
        await sleep(Math.random() * 10 * 2 ** attempt);
      }
    }
  }

  /** As `transaction`, within the worker's share of the pool. It waits for nothing for ever: not for a lock, not for an answer. */
  engineTransaction<T>(use: (transaction: Transaction) => Promise<T>): Promise<T> {
    const limits = `; set local lock_timeout = ${LOCK_WAIT_MS}`;
    return this.engineShare.hold(() =>
      this.repeatedly(() => this.connect((connection) => this.ownTransaction(connection, use, limits), ANSWER_MS)),
    );
  }

  /**
   * Runs `use` in the caller's transaction when there is one (`manager`, or the ambient one), else in one of our own. What
   * it announces is told after the commit, whoever's it is.
   */
  async within<T>(manager: EntityManager | undefined, use: (transaction: Transaction) => Promise<T>): Promise<T> {
    const joined = await this.callersTransaction(manager);
    if (!joined) return this.transaction(use);
    const { connection, known } = joined;
    const transaction = new Transaction(connection, true);
    const result = await use(transaction);
    if (known) {
      this.afterCommit.add(connection.queryRunner, () => transaction.committed(this.wakeup));
    } else {
      // TypeORM did not see this BEGIN, so nobody will tell of the commit: PostgreSQL does, with the notification.
      await transaction.notifyInside();
      transaction.committed(null);
    }
    return result;
  }

  /** As `within`, for what is one statement: outside a caller's transaction it needs no `begin` and `commit` around it. */
  async single<T>(manager: EntityManager | undefined, use: (transaction: Transaction) => Promise<T>): Promise<T> {
    if (!this.readCommittedByDefault || (await this.callersTransaction(manager))) return this.within(manager, use);
    return this.callersShare.hold(() =>
      this.repeatedly(() =>
        this.connect(async (connection) => {
          const transaction = new Transaction(connection, false);
          const result = await use(transaction);
          transaction.committed(this.wakeup);
          return result;
        }),
      ),
    );
  }

  /** The manager that reads should go through: the caller's while its transaction is open, else the DataSource's own. */
  async readerOf(manager: EntityManager | undefined): Promise<EntityManager> {
    const joined = await this.callersTransaction(manager);
    return joined ? joined.connection.manager : this.dataSource.manager;
  }

  /** The manager given, or the ambient one. */
  managerOf(manager: EntityManager | undefined): EntityManager | undefined {
    const given = manager ?? this.options.ambient?.() ?? undefined;
    return given === undefined ? undefined : callersManager(given, this.dataSource);
  }

  private async callersTransaction(manager: EntityManager | undefined) {
    const queryRunner = this.managerOf(manager)?.queryRunner;
    if (!queryRunner || queryRunner.isReleased) return null;
    const connection = await this.connectionOf(queryRunner);
    if (queryRunner.isTransactionActive) return { connection, known: true };
    const status = transactionStatus(connection.client);
    return status === 'T' || status === 'E' ? { connection, known: false } : null;
  }

  private async ownTransaction<T>(
    connection: Connection,
    use: (transaction: Transaction) => Promise<T>,
    limits: string,
  ): Promise<T> {
    const transaction = new Transaction(connection, false);
    await connection.command(
      `begin isolation level read committed; set local idle_in_transaction_session_timeout = ${IDLE_LIMIT_MS}${limits}`,
    );
    let result: T;
    try {
      result = await use(transaction);
      await connection.command('commit');
    } catch (error) {
      await connection.command('rollback').catch(() => undefined);
      throw error;
    }
    transaction.committed(this.wakeup);
    return result;
  }

  /** Wraps a query runner's connection, whoever owns it. */
  async connectionOf(queryRunner: QueryRunner, answerWithin?: number): Promise<Connection> {
    return new Connection(queryRunner, (await queryRunner.connect()) as DriverClient, this.texts, answerWithin);
  }

  /**
   * A transaction that the application's code works in, by `transaction.connection.manager`: opened through TypeORM, so that its
   * own `manager.transaction()` becomes a savepoint. Not run again: who calls it knows whether the application's code may be.
   *
   * It ends when its connection is lost, whatever the application's code is waiting for: code that never settles must not keep
   * its share of the pool for ever.
   */
  sharedTransaction<T>(idleLimit: number, use: (transaction: Transaction) => Promise<T>): Promise<T> {
    const hold = (work: (connection: Connection) => Promise<T>) =>
      this.longShare.hold(() => this.engineShare.hold(() => this.connect(work, ANSWER_MS)));
    return hold(async (connection) => {
      const { queryRunner } = connection;
      const transaction = new Transaction(connection, false);
      let result: T;
      this.shared.add(connection);
      try {
        await connection.answered(queryRunner.startTransaction());
        await connection.command(
          `set transaction isolation level read committed; ` +
            `set local idle_in_transaction_session_timeout = ${Math.min(Math.ceil(idleLimit), MAX_INT4)}; ${SET_MARK}`,
        );
        if (this.pooled) connection.pooledPid = (await connection.run<{ pid: number }>(SERVER, []))[0]!.pid;
        result = await connection.whileAlive(use(transaction));
        await connection.answered(queryRunner.commitTransaction());
      } catch (error) {
        if (queryRunner.isTransactionActive) await rollBack(connection);
        throw error;
      } finally {
        this.shared.delete(connection);
      }
      transaction.committed(this.wakeup);
      return result;
    });
  }

  /** Asks the server to stop what another connection is executing. */
  async cancelQuery(connection: Connection): Promise<void> {
    const pid = connection.pooledPid ?? (this.pooled ? null : connection.client.processID);
    if (pid) await this.connect((other) => other.run(CANCEL_QUERY, [pid]));
  }
}

/** On a connection whose other end has vanished it is never answered. */
async function rollBack(connection: Connection): Promise<void> {
  const timer = setTimeout(() => connection.cut(), ROLLBACK_MS);
  await connection.queryRunner.rollbackTransaction().catch(() => undefined);
  clearTimeout(timer);
}
