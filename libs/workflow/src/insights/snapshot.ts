import type { Connection } from '../store/connection.js';
import type { Database } from '../store/database.js';

/** A read that the server has not answered after this long is given up, with its connection. */
const ANSWER_MS = 30_000;

/** A read of one statement. */
export function readOne<T>(database: Database, use: (connection: Connection) => Promise<T>): Promise<T> {
  return database.connect(use, ANSWER_MS);
}

/** Reads of several statements that see the same moment: a page's parts agree with each other, however fast its run moves. */
export function readSnapshot<T>(database: Database, use: (connection: Connection) => Promise<T>): Promise<T> {
  return database.connect(async (connection) => {
    // Compiling such queries (JIT) takes longer than they do.
    await connection.command('begin isolation level repeatable read read only; set local jit = off');
    try {
      return await use(connection);
    } finally {
      // There is nothing to commit; on a connection that is lost nobody is asked.
      await connection.command('rollback').catch(() => undefined);
    }
  }, ANSWER_MS);
}
