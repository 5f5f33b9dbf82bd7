// @ts-check

import { Client } from 'pg';

/**
 * Rejects when no PostgreSQL answers there.
 *
 * @param {string} url
 */
export async function ping(url) {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => {});
  }
}
