import { Client } from 'pg';
import type { Suite } from './suite';

/** Holds the locks of these runs (or of other rows of theirs), as whoever changes them does, until `release` is called. */
export async function holdRuns(
  suite: Suite,
  ids: readonly string[],
  rows = 'select from workflows where id = any($1::uuid[]) order by id for no key update',
): Promise<{ release(): Promise<void> }> {
  const client = new Client({ connectionString: suite.database.url });
  await client.connect();
  await client.query('begin');
  await client.query(rows, [ids]);
  return {
    release: async () => {
      await client.query('commit');
      await client.end();
    },
  };
}

/** How many connections wait for a lock now. */
export async function waitingForLocks(suite: Suite): Promise<number> {
  const [row] = await suite.sql<{ waiting: number }>(
    `select count(*)::int as waiting from pg_stat_activity
     where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`,
  );
  return row.waiting;
}

/** Waits until so many connections wait for a lock. */
export function untilWaitingForLocks(suite: Suite, count: number): Promise<void> {
  return suite.eventually(async () => (await waitingForLocks(suite)) >= count, `${count} connections wait for a lock`);
}
