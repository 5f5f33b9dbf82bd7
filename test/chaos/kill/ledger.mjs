// @ts-check
// What steps have done to the world outside: rows of another database, written at once. What a step did there stays done,
// whatever becomes of the step.

import { Client, escapeIdentifier, Pool } from 'pg';

/**
 * Whose effect it is: an attempt, or one try of a fan-out's member.
 *
 * @typedef {object} Doer
 * @property {string} run
 * @property {string} step
 * @property {number} attempt the step's
 * @property {number} member -1: no member, the step itself
 * @property {number} tried how often the member was tried, this time included; 1 for a step
 *
 * @typedef {Doer & { kind: 'plain' | 'keyed', at: Date }} Effect
 */

const CREATE = `
  create table effects (
    id bigint generated always as identity primary key,
    run uuid not null,
    step text not null,
    attempt int not null,
    member int not null,
    tried int not null,
    kind text not null,
    key text unique,
    at timestamptz not null default statement_timestamp()
  );
  create index on effects (run)`;

const WRITE = `
  insert into effects (run, step, attempt, member, tried, kind, key) values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (key) do nothing`;

export class Ledger {
  #pool;

  /** @param {string} url */
  constructor(url) {
    this.#pool = new Pool({ connectionString: url, max: 4 });
    this.#pool.on('error', () => undefined);
  }

  /**
   * Makes an empty ledger, in a database of its own on that server.
   *
   * @param {string} server
   * @param {string} name
   * @returns {Promise<{ url: string, drop: () => Promise<void> }>}
   */
  static async create(server, name) {
    await asAdmin(server, (client) => client.query(`create database ${escapeIdentifier(name)}`));
    const url = new URL(server);
    url.pathname = `/${name}`;
    await asAdmin(url.href, (client) => client.query(CREATE));
    const drop = () =>
      asAdmin(server, (client) => client.query(`drop database if exists ${escapeIdentifier(name)} with (force)`));
    return { url: url.href, drop };
  }

  /**
   * An effect that happens as often as it is asked for, and one that happens once for its key.
   *
   * @param {Doer} doer
   * @param {string} key
   */
  async write({ run, step, attempt, member, tried }, key) {
    await this.#pool.query(WRITE, [run, step, attempt, member, tried, 'plain', null]);
    await this.#pool.query(WRITE, [run, step, attempt, member, tried, 'keyed', key]);
  }

  /**
   * @param {string} run
   * @returns {Promise<Effect[]>} oldest first
   */
  async of(run) {
    const { rows } = await this.#pool.query(
      'select run, step, attempt, member, tried, kind, at from effects where run = $1 order by id',
      [run],
    );
    return rows;
  }

  /** @param {string} run whose effects happened two hours ago */
  async letTimePass(run) {
    await this.#pool.query(`update effects set at = at - interval '2 hours' where run = $1`, [run]);
  }

  close() {
    return this.#pool.end();
  }
}

/**
 * @param {string} url
 * @param {(client: Client) => Promise<unknown>} work
 */
async function asAdmin(url, work) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
