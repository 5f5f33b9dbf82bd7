import type { Connection } from '../store/connection.js';

/** What sorting for percentiles may use of memory before it goes to disk, unless the server allows more. */
const WORK_MEM_KB = 32 * 1024;

/** The database's clock in milliseconds, rounded up, so that what was just committed lies before it. On the way the transaction is given memory to sort in. */
export async function beginReading(connection: Connection): Promise<Date> {
  const [row] = await connection.ask<{ now: number }>(
    () => `select ceil(date_part('epoch', statement_timestamp()) * 1000)::float8 as now,
       set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, $1::int) || 'kB', true)`,
    [WORK_MEM_KB],
  );
  return new Date(row!.now);
}
