// @ts-check
// Processor time of the server's processes, as Linux tells it. Elsewhere, and of a server on another machine: null.

import { readdirSync, readFileSync } from 'node:fs';

/** Of `/proc/<pid>/stat` a second: the same on every Linux that Node runs on. */
const TICKS = 100;

/**
 * Of all of the server's processes, those that have ended too.
 *
 * @param {import('pg').Client} client
 * @returns {Promise<number | null>}
 */
export async function serverSeconds(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const postmaster = parentOf(Number(rows[0].pid));
  if (postmaster === null) return null;
  const own = statOf(postmaster);
  if (!own) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === postmaster);
  return children.reduce((sum, stat) => sum + (stat?.own ?? 0), own.own + own.reaped);
}

/**
 * @param {number} pid
 * @returns {number | null}
 */
export function backendSeconds(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
  } catch {
    return null;
  }
}

/**
 * The server's first process, as the parent of a backend; null: that process is none of PostgreSQL's, so the server is elsewhere.
 *
 * @param {number} pid
 */
function parentOf(pid) {
  const backend = statOf(pid);
  return backend && /postgres/.test(backend.name) ? backend.parent : null;
}

/** @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    // From the third field on: state, parent, …; 14 to 17 are user, system, and both of the children that were waited for.
    const fields = text.slice(end + 2).split(' ');
    const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number);
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      parent: Number(fields[1]),
      own: (user + system) / TICKS,
      reaped: (childUser + childSystem) / TICKS,
    };
  } catch {
    return null;
  }
}
