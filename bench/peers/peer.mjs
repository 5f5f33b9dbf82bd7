// @ts-check
// What a peer is to the workloads: an adapter in adapters/, which does the same work with what its library offers.

/**
 * @typedef {object} Peer
 * @property {(url: string) => Promise<void>} prepare makes its tables in an empty database
 * @property {(url: string, tally: import('./tally.mjs').Tally, worker: boolean) => Promise<OpenPeer>} open
 * @property {string} unfinished a query that answers rows as long as any work is unfinished
 * @property {string} [parking] a query that answers rows as long as runs that shall wait do not wait yet
 * @property {string} failed a query that answers rows if any work failed
 * @property {string | null} recorded a query for the number of steps its tables say were completed; null: it keeps no such rows
 *
 * @typedef {object} OpenPeer
 * @property {(orders: readonly number[]) => Promise<unknown>} startMany runs of five steps, in bulk where the library has a way
 * @property {(workflow: 'five' | 'three', order: number) => Promise<unknown>} start
 * @property {(orders: readonly number[]) => Promise<unknown>} park runs that wait for an event
 * @property {(order: number) => Promise<unknown>} wake sends the event one of them waits for
 * @property {(order: number, children: number) => Promise<unknown>} fanOut
 * @property {() => Promise<unknown>} close
 *
 * @typedef {'atOnce' | 'inFlight' | 'idle' | 'wakeUp' | 'fanOut'} Workload
 */

/** How much of it is to be in hand at once, in every library that has such a setting (README.md says who has another, and why). */
export const CONCURRENCY = 100;

/**
 * @typedef {object} Entry
 * @property {string} title
 * @property {string} packageName
 * @property {() => Promise<{ peer: Peer }>} load only in a peer's own process: a library may do things as it is loaded, and may
 *   want a newer Node than the process that leads
 * @property {readonly Workload[]} [cannot] workloads it has nothing for; README.md says why
 */

/** @type {Readonly<Record<string, Entry>>} */
export const PEERS = {
  us: {
    title: 'nestjs-pg-workflows',
    packageName: 'nestjs-pg-workflows',
    load: () => import('./adapters/us.mjs'),
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
