import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { claim, lanesInUse, type ClaimFilter } from '../libs/workflow/src/store/claim';
import { stepKey } from '../libs/workflow/src/store/step-key';
import type { Connection } from '../libs/workflow/src/store/connection';
import { leaseTexts, type LeaseTexts } from '../libs/workflow/src/store/leases';
import { unjoinedBatches } from '../libs/workflow/src/store/batches';
import { applyChange } from '../libs/workflow/src/store/move';
import { currentRow, lockClaimedRow, lockDueRow, lockRun, type RunRow } from '../libs/workflow/src/store/run';
import { settle, type Settlement } from '../libs/workflow/src/store/settle';
import { wake } from '../libs/workflow/src/store/signals';
import { insertRuns, type NewRun } from '../libs/workflow/src/store/start';
import type { Statement } from '../libs/workflow/src/store/statement';
import type { Schedule } from '../libs/workflow/src/store/schedule';
import { hungRows, laneAges, strandedWaits, waitingBatches } from '../libs/workflow/src/store/sweep';
import { takeRow } from '../libs/workflow/src/store/take';
import { createTestDatabase, type TestDatabase } from './support/database';
import { fillEnded, fillScheduled, LANES, LOADED } from './support/large-tables';
import { flat, indexesOf, JIT_ABOVE_COST, MODES, planOf, seqScansOf, statementOf } from './support/plans';

const WORKER = { id: randomUUID(), label: 'test:1', appRevision: null, lease: 8_000 };
const FILTER: ClaimFilter = {
  lanes: LANES,
  handlers: LOADED,
  plainSteps: LOADED.map((name) => stepKey(name, 'one')),
  gatedSteps: LOADED.map((name) => stepKey(name, 'two')),
  inHand: ['1', '2', '3'],
};
const NOBODY = randomUUID();
const NEXT: Schedule = {
  step: 'two',
  handler: 'Class0',
  queue: 'default',
  priority: 0,
  wait: 0,
  holdBack: 0,
  notBefore: null,
};

describe('plans of the hot statements, with 200,000 scheduled rows', () => {
  let database: TestDatabase | undefined;
  let client: Client;
  let known: { id: string; workflow_id: string }[];

  async function emptyDatabase() {
    await dropDatabase();
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    known = Array.from({ length: 100 }, (_, index) => ({ id: String(index + 1), workflow_id: randomUUID() }));
  }

  async function freshDatabase() {
    await emptyDatabase();
    await fillEnded(client);
  }

  async function dropDatabase() {
    await client?.end();
    await database?.drop();
  }

  async function schedule() {
    await fillScheduled(client);
    known = (await client.query(`select id, workflow_id from workflow_steps where status = 'scheduled' limit 100`))
      .rows;
  }

  afterAll(dropDatabase);

  const settlements = (count: number): Settlement[] =>
    known.slice(0, count).map(({ id, workflow_id: workflowId }) => ({
      id,
      workflowId,
      claimNo: 1,
      output: null,
      next: NEXT,
      inPlace: true,
      hasSignal: true,
    }));
  const newRuns = (count: number): NewRun[] =>
    Array.from({ length: count }, () => {
      const id = randomUUID();
      return { id, subjectType: 'Order', subjectId: id, args: '{}', idempotencyKey: id, actor: 'app', reason: null };
    });
  const run = () => ({ id: known[0].workflow_id, current_step: 'one' }) as RunRow;
  const startOf = { workflow: 'Class0', digest: '', first: NEXT, rerunOf: null };

  /** The lease keeper sends texts, not statements. */
  const text = (name: keyof LeaseTexts): Statement => ({ name, text: (tables) => leaseTexts(tables)[name] });

  /** What the engine does, with the connection it does it by, and the indexes it goes by. */
  const statements: Record<string, { indexes: string[]; send: (connection: Connection) => Promise<unknown> }> = {
    'the claim of one row': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_claim', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => claim(connection, FILTER, WORKER, 1),
    },
    'the claim of 64 rows': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_claim', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => claim(connection, FILTER, WORKER, 64),
    },
    'the look for lanes': { indexes: ['workflow_steps_claim'], send: lanesInUse },
    'the settlement of one row': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_one_attempt', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => settle(connection, settlements(1), WORKER),
    },
    'the settlement of 100 rows': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_one_attempt', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => settle(connection, settlements(100), WORKER),
    },
    'the lock of a due row': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => lockDueRow(connection, { id: '1', workflowId: NOBODY }),
    },
    'the lock of a claimed row': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => lockClaimedRow(connection, { id: '1', workflowId: NOBODY, claimNo: 1 }),
    },
    'the take of a guarded row': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => takeRow(connection, { id: '1', workflowId: NOBODY }, WORKER, true),
    },
    'the signal that wakes': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_one_attempt', 'workflows_pkey'],
      send: (connection) =>
        wake(connection, [stepKey('Class0', 'two')], {
          workflowId: NOBODY,
          name: 'paid',
          payload: '{}',
          idempotencyKey: 'key',
          actor: 'app',
          reason: null,
        }),
    },
    'the lock of a run': { indexes: ['workflows_pkey'], send: (connection) => lockRun(connection, run().id) },
    "the look at a run's current row": {
      indexes: ['workflow_steps_one_attempt'],
      send: (connection) => currentRow(connection, run()),
    },
    'the change of one run': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_one_attempt', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) =>
        applyChange(connection, {
          consume: 'step',
          run: { id: run().id, from: 'performing', to: 'ready' },
          close: { id: known[0].id, from: 'in_progress', to: 'completed', outcome: 'completed' },
          open: { schedule: NEXT, after: known[0].id },
          events: [{ name: 'step_completed', about: 'closed', actor: 'system' }],
        }),
    },
    "the renewal of a worker's leases": {
      indexes: ['workflow_steps_in_progress', 'workflow_steps_pkey'],
      send: (connection) => connection.run(text('renew'), [WORKER.id, WORKER.lease]),
    },
    "the renewal of some of a worker's leases": {
      indexes: ['workflow_steps_in_progress', 'workflow_steps_pkey'],
      send: (connection) => connection.run(text('renewSome'), [WORKER.id, WORKER.lease, [known[0].id]]),
    },
    'the look for lapsed leases': {
      indexes: ['workflow_steps_in_progress', 'workflow_steps_pkey'],
      send: (connection) => connection.run(text('look'), [WORKER.id, LOADED, '0']),
    },
    'the look for steps that hang': {
      indexes: ['workflow_steps_in_progress'],
      send: (connection) => hungRows(connection, LOADED, [{ key: stepKey('Class0', 'one'), ms: 1_000 }], 60_000, '0'),
    },
    'the look for waits without a step': {
      indexes: ['workflow_steps_batches', 'workflow_steps_waiting'],
      send: (connection) =>
        strandedWaits(connection, LOADED, { waiting: [stepKey('Class0', 'one')], declared: [] }, null),
    },
    'the look for batches that ended': {
      indexes: ['workflow_steps_batches', 'workflow_steps_one_attempt'],
      send: (connection) => waitingBatches(connection, LOADED, 60_000, null),
    },
    'the look for batches that nobody joined': {
      indexes: ['workflow_steps_batches', 'workflow_steps_one_attempt', 'workflow_steps_open_members'],
      send: (connection) => unjoinedBatches(connection, LOADED, '00000000-0000-0000-0000-000000000000', 8_000),
    },
    'the look for the oldest due rows': { indexes: ['workflow_steps_claim'], send: laneAges },
    'the start of one run': { indexes: [], send: (connection) => insertRuns(connection, startOf, newRuns(1)) },
    'the start of 100 runs': { indexes: [], send: (connection) => insertRuns(connection, startOf, newRuns(100)) },
  };

  /** What the planner can know: nothing, what was true, or the truth. */
  const statistics: Record<string, () => Promise<void>> = {
    // As an application's first minute has it: a plan made then lives on in its connections.
    'with nothing in them': emptyDatabase,
    'never analysed': async () => {
      await freshDatabase();
      await schedule();
    },
    'analysed before anything was scheduled': async () => {
      await freshDatabase();
      await client.query('analyze');
      await schedule();
    },
    analysed: async () => {
      await client.query('analyze');
    },
  };

  /** What is sent a few times a minute may read a small table whole, as long as its plan lives: a minute, until autovacuum has analysed it. */
  const isLook = (name: string) => /^the (look(?! at)|renewal)/.test(name);

  describe.each(Object.keys(statistics))('tables %s', (state) => {
    beforeAll(() => statistics[state](), 240_000);
    const names = Object.keys(statements).filter((name) => state !== 'with nothing in them' || !isLook(name));

    describe.each(MODES)('under %s', (mode) => {
      test.each(names)('%s stays on its indexes and below the cost of the JIT', async (name) => {
        const { indexes, send } = statements[name];
        const nodes = flat(await planOf(client, mode, await statementOf(send)));
        expect(seqScansOf(nodes)).toEqual([]);
        expect(nodes[0]['Total Cost']).toBeLessThan(JIT_ABOVE_COST);
        const used = indexesOf(nodes);
        expect([...new Set(used)].toSorted()).toEqual(indexes);
        // Once where it walks the lanes, once to look ahead: anything more reads the whole of it.
        expect(used.filter((index) => index === 'workflow_steps_claim').length).toBeLessThanOrEqual(2);
      });
    });
  });
});
