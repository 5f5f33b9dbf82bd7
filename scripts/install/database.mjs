// @ts-check

import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/**
 * A database for as long as `body` takes.
 *
 * @param {string} server
 * @param {string} name
 * @param {(url: string) => Promise<unknown>} body
 */
export async function withDatabase(server, name, body) {
  const database = `install_${name.replaceAll('-', '_')}_${randomBytes(4).toString('hex')}`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  try {
    await admin.query(`create database ${database}`);
    const url = new URL(server);
    url.pathname = `/${database}`;
    await body(url.href);
  } finally {
    await admin.query(`drop database if exists ${database} with (force)`);
    await admin.end();
  }
}
