// @ts-check
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { CONCURRENCY } from '../peer.mjs';
import { FIVE, Tally, THREE } from '../tally.mjs';

const QUEUE = 'runs';
const TOPIC = 'go';
let tally = new Tally();

/**
 * @param {string} name
 * @param {readonly string[]} bodies
 */
const stepsOf = (name, bodies) =>
  DBOS.registerWorkflow(
    async (/** @type {number} */ order) => {
      for (const body of bodies) await DBOS.runStep(async () => tally.ran(body, order), { name: body });
    },
    { name },
  );
const five = stepsOf('five', FIVE);
const three = stepsOf('three', THREE);
const parked = DBOS.registerWorkflow(
  async (/** @type {number} */ order) => {
    await DBOS.runStep(async () => tally.ran('parked.parked', order), { name: 'parked' });
    await DBOS.recv(TOPIC, { timeoutSeconds: 3600 });
    await DBOS.runStep(async () => tally.ran('parked.woken', order), { name: 'woken' });
  },
  { name: 'parked' },
);
const child = DBOS.registerWorkflow(async (/** @type {number} */ order) => tally.ran('crowd.child', order), {
  name: 'child',
});
const crowd = DBOS.registerWorkflow(
  async (/** @type {number} */ order, /** @type {number} */ children) => {
    const handles = await Promise.all(
      Array.from({ length: children }, () => DBOS.startWorkflow(child, { queueName: QUEUE })(order)),
    );
    await Promise.all(handles.map((handle) => handle.getResult()));
    await DBOS.runStep(async () => tally.ran('crowd.joined', order), { name: 'joined' });
  },
  { name: 'crowd' },
);

/** @param {string} url */
async function launch(url) {
  DBOS.setConfig({
    name: 'peers',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 20,
    applicationVersion: '1',
    logLevel: 'error',
  });
  await DBOS.launch();
  await DBOS.registerQueue(QUEUE, { workerConcurrency: CONCURRENCY, minPollingIntervalMs: 20 });
}

/** @param {number} order */
const parkedId = (order) => `parked-${order}`;

/** @type {import('../peer.mjs').Peer} */
export const peer = {
  unfinished: "select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED') limit 1",
  parking: `select from dbos.workflow_status w where not exists (
              select from dbos.operation_outputs o where o.workflow_uuid = w.workflow_uuid) limit 1`,
  failed: "select from dbos.workflow_status where status not in ('SUCCESS', 'ENQUEUED', 'PENDING', 'DELAYED') limit 1",
  recorded: 'select count(*)::int as steps from dbos.operation_outputs',
  async prepare(url) {
    await launch(url);
    await DBOS.shutdown();
  },
  async open(url, told, worker) {
    tally = told;
    if (!worker) return openClient(url);
    await launch(url);
    return {
      startMany: () => Promise.reject(new Error('Many runs are started by a client')),
      start: (workflow, order) => DBOS.startWorkflow(workflow === 'five' ? five : three)(order),
      park: (orders) =>
        Promise.all(orders.map((order) => DBOS.startWorkflow(parked, { workflowID: parkedId(order) })(order))),
      wake: (order) => DBOS.send(parkedId(order), null, TOPIC),
      fanOut: (order, children) => DBOS.startWorkflow(crowd)(order, children),
      close: () => DBOS.shutdown(),
    };
  },
};

/**
 * A process without a worker.
 *
 * @param {string} url
 * @returns {Promise<import('../peer.mjs').OpenPeer>}
 */
async function openClient(url) {
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 20,
    applicationName: 'peers',
  });
  const none = () => Promise.reject(new Error('Only startMany is done without a worker'));
  return {
    startMany: (orders) =>
      Promise.all(orders.map((order) => client.enqueue({ queueName: QUEUE, workflowName: 'five' }, order))),
    start: none,
    park: none,
    wake: none,
    fanOut: none,
    close: () => client.destroy(),
  };
}
