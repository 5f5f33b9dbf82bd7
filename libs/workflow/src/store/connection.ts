import type { EntityManager, QueryRunner } from 'typeorm';
import { cutClient } from './client-config.js';
import { PlannedSize } from './planned-size.js';
import { isAborted, isOfStatementName } from './sql-state.js';
import type { Statement, Tables } from './statement.js';

/** What this package uses of the `pg` driver's client: TypeORM's `query()` has no named prepared statements. */
export interface DriverClient {
  query(config: {
    text: string;
    name?: string;
    values?: unknown[];
    types?: { getTypeParser(oid: number, format?: string): (value: string) => unknown };
  }): Promise<{ rows: unknown[]; rowCount: number | null }>;
  /** `I` idle, `T` in a transaction, `E` in a failed one; not in every version of the driver. */
  getTransactionStatus?(): 'I' | 'T' | 'E' | null;
  readonly _txStatus?: 'I' | 'T' | 'E' | null;
  readonly processID?: number | null;
  readonly connection?: { readonly stream?: { destroy(): void } };
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
}

/** The transaction's state as the server last told the driver. */
export function transactionStatus(client: DriverClient): 'I' | 'T' | 'E' | null {
  return client.getTransactionStatus?.() ?? client._txStatus ?? null;
}

const OID = { bool: 16, int4: 23, json: 114, float8: 701 };

/**
 * Parsers of our own, so that an application which changed the driver's global ones (bigint as number, say) does not
 * change what the engine reads. What is not listed stays text: identity ids are strings.
 */
const PARSERS = {
  getTypeParser(oid: number): (value: string) => unknown {
    if (oid === OID.int4 || oid === OID.float8) return Number;
    if (oid === OID.json) return JSON.parse as (value: string) => unknown;
    if (oid === OID.bool) return (value) => value === 't';
    return (value) => value;
  },
};

/** One connection of the pool, for as long as somebody holds it. */
export class Connection {
  constructor(
    readonly queryRunner: QueryRunner,
    readonly client: DriverClient,
    private readonly texts: StatementTexts,
    /** Milliseconds that the server may take for a statement; not given: as long as it takes. */
    private readonly answerWithin?: number,
  ) {}

  /** The backend that a transaction under way has, when a pooler is in between: the driver was told of another. */
  pooledPid: number | undefined;

  get tables(): Tables {
    return this.texts.tables;
  }

  get manager(): EntityManager {
    return this.queryRunner.manager;
  }

  /** Runs a statement under its name and returns its rows. */
  async run<Row>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const text = this.texts.of(statement);
    const { named } = this.texts;
    try {
      const query = {
        ...(named && { name: this.texts.plannedSize.nameOf(statement.name) }),
        text,
        values,
        types: PARSERS,
      };
      const { rows } = await this.answered(this.client.query(query));
      return rows as Row[];
    } catch (error) {
      if (!named || !isOfStatementName(error)) throw error;
      this.texts.goUnnamed();
      // It was not executed. In a transaction that is over now; whoever runs that runs it again.
      if (transactionStatus(this.client) !== 'I') throw error;
      return this.run(statement, values);
    }
  }

  /** Runs a statement that is put together for one call, of constant parts: planned for its own values, and kept by nobody. */
  async ask<Row>(text: (tables: Tables) => string, values: unknown[]): Promise<Row[]> {
    const query = { text: text(this.tables), values, types: PARSERS };
    return (await this.answered(this.client.query(query))).rows as Row[];
  }

  /**
   * A connection whose other end has vanished says nothing by itself, and would hold its place for a quarter of an hour or for ever: it is
   * cut. What was asked may have been carried out all the same.
   */
  async answered<T>(answer: Promise<T>): Promise<T> {
    if (this.answerWithin === undefined) return answer;
    const timer = setTimeout(() => this.cut(), this.answerWithin);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Cuts it at once: whoever waits for an answer on it gets an error. */
  cut(): void {
    cutClient(this.client);
  }

  /** Asks whether the server still answers on it: what was thrown may be its loss, or the application's own trouble. */
  async isLost(): Promise<boolean> {
    try {
      await this.command('select 1');
      return false;
    } catch (error) {
      return !isAborted(error);
    }
  }

  /** What `work` comes to, or a rejection as soon as the connection is lost. */
  async whileAlive<T>(work: Promise<T>): Promise<T> {
    let failed!: (cause: Error) => void;
    const lost = new Promise<never>((_, reject) => {
      failed = (cause) =>
        reject(new Error("The transaction's connection was lost: what was written in it is rolled back", { cause }));
    });
    this.client.on('error', failed);
    try {
      return await Promise.race([work, lost]);
    } finally {
      this.client.removeListener('error', failed);
    }
  }

  /** The table of steps has this size now. */
  measured(bytes: number): void {
    this.texts.plannedSize.measured(bytes);
  }

  /** Runs SQL that has no parameters and no result: `begin`, `savepoint x`. */
  async command(text: string): Promise<void> {
    await this.answered(this.client.query({ text }));
  }
}

/** The statements' texts for one DataSource, written once. */
export class StatementTexts {
  private readonly texts = new Map<Statement, string>();

  /** What their names go by. */
  readonly plannedSize = new PlannedSize();

  /** Whether statements are prepared under their names. */
  named = true;

  constructor(
    readonly tables: Tables,
    private readonly wentUnnamed: () => void = () => undefined,
  ) {}

  /** From now on each statement is planned anew: behind a transaction pooler a name is not there the next time. */
  goUnnamed(): void {
    if (!this.named) return;
    this.named = false;
    this.wentUnnamed();
  }

  of(statement: Statement): string {
    let text = this.texts.get(statement);
    if (text === undefined) {
      text = statement.text(this.tables);
      this.texts.set(statement, text);
    }
    return text;
  }
}
