// @ts-check

/**
 * @param {import('../support/database.mjs').ChaosDatabase} database
 * @param {string} sql rows of `what` and `count`
 * @returns {Promise<Record<string, number>>}
 */
export async function countsOf({ query }, sql) {
  return Object.fromEntries((await query(`${sql} order by 1`)).map(({ what, count }) => [what, count]));
}

/** @param {import('../support/database.mjs').ChaosDatabase} database */
export function runsByStatus(database) {
  return countsOf(database, 'select status as what, count(*)::int as count from workflows group by 1');
}
