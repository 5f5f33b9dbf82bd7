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
