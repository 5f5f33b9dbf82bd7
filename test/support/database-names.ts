/** Databases by name on the test server: what the global setup and the suites both need. */

import { Client, escapeIdentifier } from 'pg';

export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Ends whatever is still connected. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  await withClient(server, (client) => client.query(`drop database if exists ${escapeIdentifier(name)} with (force)`));
}
