/** The PostgreSQL of a test run: started once, before the first suite; workers find it through the environment. */

import { randomBytes } from 'node:crypto';
import { startPostgres } from '../../scripts/postgres.mjs';
import { dropDatabase } from './database-names';

let end: (() => Promise<void>) | undefined;

export async function startTestPostgres(): Promise<void> {
  // The tests end connections and processes, never the machine: they do without waiting for the disk.
  const server = await startPostgres({ quiet: true, settings: { fsync: 'off', full_page_writes: 'off' } });
  const template = `workflows_template_${randomBytes(8).toString('hex')}`;
  process.env.WORKFLOWS_TEST_DATABASE_URL = server.url;
  process.env.WORKFLOWS_TEST_TEMPLATE = template;
  end = async () => {
    await dropDatabase(server.url, template); // matters where DATABASE_URL names a server that stays
    await server.stop();
  };
}

export async function stopTestPostgres(): Promise<void> {
  await end?.();
  end = undefined;
}
