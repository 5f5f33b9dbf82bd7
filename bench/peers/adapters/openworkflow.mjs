// @ts-check
import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';
import postgres from 'postgres';
import { FIVE, THREE } from '../tally.mjs';

/** Each free slot asks for a run of its own, all of them at once, also when there is none: with a hundred slots few runs in flight were slower, and many about as fast. */
const CONCURRENCY = 20;

/** @type {import('../peer.mjs').Peer} */
export const peer = {
  unfinished: "select from openworkflow.workflow_runs where status in ('pending', 'running', 'sleeping') limit 1",
  parking: "select from openworkflow.workflow_runs where worker_id is not null or status = 'pending' limit 1",
  failed: "select from openworkflow.workflow_runs where status in ('failed', 'canceled') limit 1",
  recorded: "select count(*)::int as steps from openworkflow.step_attempts where status = 'completed'",
  async prepare(url) {
    await (await BackendPostgres.connect(url)).stop();
  },
  async open(url, tally, worker) {
    // Its own way to connect has the driver's ten connections. This is what it offers to have more; the names are as it wants them.
    const pool = postgres(url, { max: 20, transform: { column: { from: postgres.toCamel } } });
    const client = new OpenWorkflow({ backend: BackendPostgres.fromPool(pool) });

    /**
     * @param {string} name
     * @param {readonly string[]} bodies
     */
    const stepsOf = (name, bodies) =>
      client.defineWorkflow({ name }, async ({ input, step }) => {
        const { order } = /** @type {{ order: number }} */ (input);
        for (const body of bodies) await step.run({ name: body }, () => tally.ran(body, order));
      });
    const five = stepsOf('five', FIVE);
    const three = stepsOf('three', THREE);
    const parked = client.defineWorkflow({ name: 'parked' }, async ({ input, step }) => {
      const { order } = /** @type {{ order: number }} */ (input);
      await step.run({ name: 'parked' }, () => tally.ran('parked.parked', order));
      await step.waitForSignal({ name: 'wait', signal: `go-${order}` });
      await step.run({ name: 'woken' }, () => tally.ran('parked.woken', order));
    });
    const child = client.defineWorkflow({ name: 'child' }, async ({ input }) => {
      tally.ran('crowd.child', /** @type {{ order: number }} */ (input).order);
    });
    const crowd = client.defineWorkflow({ name: 'crowd' }, async ({ input, step }) => {
      const { order, children } = /** @type {{ order: number, children: number }} */ (input);
      await Promise.all(
        Array.from({ length: children }, (_, index) =>
          step.runWorkflow(child.workflow.spec, { order }, { name: `child-${index}` }),
        ),
      );
      tally.ran('crowd.joined', order);
    });

    const working = client.newWorker({ concurrency: CONCURRENCY });
    if (worker) await working.start();
    return {
      startMany: (orders) => Promise.all(orders.map((order) => five.run({ order }))),
      start: (workflow, order) => (workflow === 'five' ? five : three).run({ order }),
      park: (orders) => Promise.all(orders.map((order) => parked.run({ order }))),
      wake: (order) => client.sendSignal({ signal: `go-${order}` }),
      fanOut: (order, children) => crowd.run({ order, children }),
      async close() {
        await working.stop();
        await pool.end();
      },
    };
  },
};
