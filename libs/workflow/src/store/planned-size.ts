/** Tables that have grown to so many times their size are planned for anew. */
const GROWN = 4;
/** Smaller ones are all the same. */
const SMALL_BYTES = 256 * 1024;

/**
 * For which size of the table of steps statements are prepared. A plan that was made while the tables were small reads them whole, and PostgreSQL keeps
 * it until they are analyzed, a minute later or more: with 60,000 rows written meanwhile a claim took 100 ms instead of some. Under another name a
 * statement is planned for what is there now.
 */
export class PlannedSize {
  private bytes = SMALL_BYTES;
  private generation = 0;

  /** The table has this size now. */
  measured(bytes: number): void {
    if (bytes <= this.bytes * GROWN) return;
    this.bytes = bytes;
    this.generation += 1;
  }

  nameOf(statement: string): string {
    return this.generation ? `${statement}_${this.generation}` : statement;
  }
}

/** The size, as SQL. */
export function sizeOf(table: string): string {
  return `(select pg_relation_size('${table.replaceAll(`'`, `''`)}'::regclass)::float8)`;
}
