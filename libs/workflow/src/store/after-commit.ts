import type { EntitySubscriberInterface, QueryRunner, TransactionCommitEvent, TransactionRollbackEvent } from 'typeorm';
import { transactionStatus, type DriverClient } from './connection.js';

interface Effect {
  readonly run: () => void;
  /** How many of the savepoints open when it was added still are: a rollback to one of them takes it back. */
  readonly depth: number;
}

/**
 * Runs what was asked for once the caller's TypeORM transaction has really committed.
 *
 * TypeORM awaits the hook, passes a throw in it on to the caller whose commit had succeeded, and also calls it when a
 * savepoint is released: so this one is synchronous, catches everything, and acts only when no transaction is left open.
 */
export class AfterCommit implements EntitySubscriberInterface {
  private readonly effects = new WeakMap<QueryRunner, Effect[]>();

  constructor(private readonly failed: (error: unknown) => void) {}

  add(queryRunner: QueryRunner, run: () => void): void {
    const effects = this.effects.get(queryRunner) ?? [];
    effects.push({ run, depth: depthOf(queryRunner) });
    this.effects.set(queryRunner, effects);
  }

  /** A swallowed database error turns COMMIT into ROLLBACK; TypeORM still reports a commit. */
  beforeTransactionCommit({ queryRunner }: TransactionCommitEvent): void {
    const client = (queryRunner as { databaseConnection?: DriverClient }).databaseConnection;
    if (client && transactionStatus(client) === 'E') this.effects.delete(queryRunner);
  }

  afterTransactionCommit({ queryRunner }: TransactionCommitEvent): void {
    const effects = this.effects.get(queryRunner);
    if (!effects) return;
    if (queryRunner.isTransactionActive) return this.released(queryRunner, effects);
    this.effects.delete(queryRunner);
    for (const { run } of effects) {
      try {
        run();
      } catch (error) {
        this.failed(error);
      }
    }
  }

  /** A savepoint's release: what was done in it is the surrounding transaction's now. */
  private released(queryRunner: QueryRunner, effects: Effect[]): void {
    const open = depthOf(queryRunner);
    this.effects.set(
      queryRunner,
      effects.map(({ run, depth }) => ({ run, depth: Math.min(depth, open) })),
    );
  }

  afterTransactionRollback({ queryRunner }: TransactionRollbackEvent): void {
    const effects = this.effects.get(queryRunner);
    if (!effects) return;
    const depth = depthOf(queryRunner);
    const left = queryRunner.isTransactionActive ? effects.filter((effect) => effect.depth <= depth) : [];
    if (left.length) this.effects.set(queryRunner, left);
    else this.effects.delete(queryRunner);
  }
}

function depthOf(queryRunner: QueryRunner): number {
  return (queryRunner as unknown as { transactionDepth?: number }).transactionDepth ?? 0;
}
