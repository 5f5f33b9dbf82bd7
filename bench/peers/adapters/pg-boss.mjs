// @ts-check
// A queue without steps: a run is a chain of jobs, each of which sends the next one, in the transaction that completes it.

import { PgBoss } from 'pg-boss';
import { JOIN_TABLE } from './join-table.mjs';

/** @typedef {{ order: number, step: number, steps: number, workflow: string, left: number }} Payload */

const QUEUES = ['step', 'woken', 'crowd', 'child', 'joined'];

/**
 * @param {string} connectionString
 * @param {boolean} worker
 */
function bossFor(connectionString, worker) {
  const boss = new PgBoss({
    connectionString,
    max: 25,
    schedule: false,
    supervise: worker,
    useListenNotify: worker,
    // How soon its workers learn that there is more than they fetch: the least it allows.
    queueCacheIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    superviseIntervalSeconds: 1,
  });
  boss.on('error', (error) => console.error(`pg-boss: ${String(error)}`));
  return boss;
}

/**
 * @param {import('pg-boss').WorkOptions} work how the two busy queues are worked on
 * @returns {import('../peer.mjs').Peer}
 */
export function pgBoss(work) {
  return {
    unfinished: "select from pgboss.job where state < 'completed' limit 1",
    failed: "select from pgboss.job where state > 'completed' limit 1",
    recorded: "select count(*)::int as steps from pgboss.job where state = 'completed' and name = 'step'",
    async prepare(url) {
      const boss = await bossFor(url, false).start();
      for (const name of QUEUES) await boss.createQueue(name, { notify: true });
      await boss.getDb().executeSql(JOIN_TABLE.create);
      await boss.stop();
    },
    async open(url, tally, worker) {
      const boss = await bossFor(url, worker).start();
      if (worker) await workOn(boss, work, tally);
      return {
        startMany: (orders) =>
          boss.insert(
            'step',
            orders.map((order) => ({ data: { workflow: 'five', order, step: 1, steps: 5 } })),
          ),
        start: (workflow, order) => boss.send('step', { workflow, order, step: 1, steps: workflow === 'five' ? 5 : 3 }),
        async park(orders) {
          for (const order of orders) tally.ran('parked.parked', order);
        },
        wake: (order) => boss.send('woken', { order }),
        fanOut: (order, left) => boss.send('crowd', { order, left }),
        close: () => boss.stop({ graceful: true, timeout: 5_000 }),
      };
    },
  };
}

/**
 * @param {PgBoss} boss
 * @param {import('pg-boss').WorkOptions} work
 * @param {import('../tally.mjs').Tally} tally
 */
async function workOn(boss, work, tally) {
  /**
   * @param {string} queue
   * @param {import('pg-boss').WorkOptions} options
   * @param {(payloads: Payload[], db: import('pg-boss').Db) => Promise<unknown>} handle
   */
  const on = (queue, options, handle) =>
    boss.work(
      queue,
      { ...options, transactional: true },
      (/** @type {import('pg-boss').Job<Payload>[]} */ jobs, /** @type {import('pg-boss').Db} */ db) =>
        handle(
          jobs.map(({ data }) => data),
          db,
        ),
    );

  await on('step', work, async (payloads, db) => {
    for (const { workflow, order, step } of payloads) tally.ran(`${workflow}.${step}`, order);
    const next = payloads.filter(({ step, steps }) => step < steps);
    if (next.length)
      await boss.insert(
        'step',
        next.map((payload) => ({ data: { ...payload, step: payload.step + 1 } })),
        { db },
      );
  });
  await on('child', work, async (payloads, db) => {
    /** @type {Map<number, number>} */
    const done = new Map();
    for (const { order } of payloads) {
      tally.ran('crowd.child', order);
      done.set(order, (done.get(order) ?? 0) + 1);
    }
    for (const [order, count] of done) {
      const { rows } = await db.executeSql(JOIN_TABLE.decrement, [order, count]);
      if (rows[0].left === 0) await boss.send('joined', { order }, { db });
    }
  });
  await on('woken', {}, async ([payload]) => payload && tally.ran('parked.woken', payload.order));
  await on('joined', {}, async ([payload]) => payload && tally.ran('crowd.joined', payload.order));
  await on('crowd', {}, async ([payload], db) => {
    if (!payload) return;
    const { order, left } = payload;
    await db.executeSql(JOIN_TABLE.open, [order, left]);
    await boss.insert(
      'child',
      Array.from({ length: left }, () => ({ data: { order } })),
      { db },
    );
  });
}
