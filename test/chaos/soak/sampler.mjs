// @ts-check
// One look at the workers and at the tables.

import { TABLES } from './judge.mjs';

const SIZES = `
  select s.relname as table, s.n_dead_tup::float8 as dead,
         pg_table_size(s.relid)::float8 / 1048576 as table_mb, pg_indexes_size(s.relid)::float8 / 1048576 as index_mb
  from pg_stat_user_tables s where s.relname = any($1)`;

const BUSY = 'select active_time::float8 as ms from pg_stat_database where datname = current_database()';

const OPEN = 'select count(*)::int as runs from workflows where ended_at is null';

export class Sampler {
  #begun = performance.now();
  #bodies = 0;
  #busy = 0;
  #at = 0;

  /**
   * @param {import('../support/database.mjs').ChaosDatabase} database
   * @param {import('../support/workers.mjs').Workers} workers
   */
  constructor(database, workers) {
    this.database = database;
    this.workers = workers;
  }

  /** @returns {Promise<import('./judge.mjs').Sample>} */
  async sample() {
    const { query } = this.database;
    const samples = await this.workers.sample();
    const at = (performance.now() - this.#begun) / 1_000;
    const sizes = await query(SIZES, [TABLES]);
    const [busy] = await query(BUSY);
    const [open] = await query(OPEN);
    const bodies = samples.reduce((sum, one) => sum + one.bodies, 0);
    const steps = bodies - this.#bodies;
    const sample = {
      at,
      stepsPerSecond: steps / (at - this.#at),
      openRuns: open.runs,
      databaseMsPerStep: steps ? (busy.ms - this.#busy) / steps : 0,
      heapMb: samples.reduce((sum, { heapMb }) => sum + heapMb, 0),
      deadTuples: sizes.reduce((sum, { dead }) => sum + dead, 0),
      tableMb: Object.fromEntries(sizes.map(({ table, table_mb }) => [table, table_mb])),
      indexMb: Object.fromEntries(sizes.map(({ table, index_mb }) => [table, index_mb])),
    };
    this.#bodies = bodies;
    this.#busy = busy.ms;
    this.#at = at;
    return sample;
  }
}
