// @ts-check
// Who is measured.

/**
 * @typedef {object} Entry
 * @property {string} title
 * @property {string} packageName
 * @property {() => Promise<{ peer: import('./peer.mjs').Peer }>} load only in a peer's own process: a library may do things as it is loaded, and may
 *   want a newer Node than the process that leads
 * @property {readonly import('./peer.mjs').Workload[]} [cannot] workloads it has nothing for; README.md says why
 */

/** @type {Readonly<Record<string, Entry>>} */
export const PEERS = {
  us: {
    title: 'nestjs-pg-workflows',
    packageName: 'nestjs-pg-workflows',
    load: () => import('./adapters/us.mjs'),
  },
  'us-wide': {
    title: 'nestjs-pg-workflows, concurrency 1,000',
    packageName: 'nestjs-pg-workflows',
    load: () => import('./adapters/us-wide.mjs'),
  },
  dbos: {
    title: 'DBOS',
    packageName: '@dbos-inc/dbos-sdk',
    load: () => import('./adapters/dbos.mjs'),
  },
  openworkflow: {
    title: 'openworkflow',
    packageName: 'openworkflow',
    load: () => import('./adapters/openworkflow.mjs'),
  },
  'graphile-worker': {
    title: 'graphile-worker',
    packageName: 'graphile-worker',
    load: () => import('./adapters/graphile-worker.mjs'),
  },
  'pg-boss': {
    title: 'pg-boss, one job a call',
    packageName: 'pg-boss',
    load: () => import('./adapters/pg-boss-single.mjs'),
  },
  'pg-boss-batch': {
    title: 'pg-boss, 500 jobs a call',
    packageName: 'pg-boss',
    load: () => import('./adapters/pg-boss-batch.mjs'),
  },
};

/** @param {string} name */
export function entryOf(name) {
  const entry = PEERS[name];
  if (!entry) throw new Error(`There is no peer '${name}': the peers are ${Object.keys(PEERS).join(', ')}`);
  return entry;
}
