import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { DataSource, type Logger } from 'typeorm';
import { WorkflowEntities } from 'nestjs-pg-workflows';
import { RunAccess } from '../libs/workflow/src/service/run-access';
import type { ServiceParts } from '../libs/workflow/src/service/service.parts';
import type { Starter } from '../libs/workflow/src/service/starter';
import { completedOutputs, consecutiveReattempts } from '../libs/workflow/src/store/attempts';
import { claim, ownedRows } from '../libs/workflow/src/store/claim';
import { stepKey } from '../libs/workflow/src/store/step-key';
import type { Connection } from '../libs/workflow/src/store/connection';
import * as batches from '../libs/workflow/src/store/batches';
import * as members from '../libs/workflow/src/store/members';
import { deleteRuns, endedRuns } from '../libs/workflow/src/store/retention';
import { FIRST_RUN, lockRunIfFree, runById, stepRow } from '../libs/workflow/src/store/run';
import * as signals from '../libs/workflow/src/store/signals';
import { ongoingRunOf, runByKey } from '../libs/workflow/src/store/start';
import { strandedWaits, waitingBatches } from '../libs/workflow/src/store/sweep';
import { takeRow } from '../libs/workflow/src/store/take';
import { moveDeadline, nextDeadlineIn, park, passedDeadlines } from '../libs/workflow/src/store/wait';
import { WorkflowEvent } from '../libs/workflow/src/model/workflow-event.entity';
import { WorkflowRun } from '../libs/workflow/src/model/workflow-run.entity';
import { WorkflowSignal } from '../libs/workflow/src/model/workflow-signal.entity';
import { WorkflowStep } from '../libs/workflow/src/model/workflow-step.entity';
import { createTestDatabase, type TestDatabase } from './support/database';
import { fillEnded, fillScheduled, fillWaiting, LANES, LOADED } from './support/large-tables';
import { flat, indexesOf, JIT_ABOVE_COST, MODES, planOf, seqScansOf, statementOf, type Sent } from './support/plans';

const SCHEDULED = 30_000;
const WORKER = { id: randomUUID(), label: 'test:1', appRevision: null, lease: 8_000 };
const STEPS = { waiting: [stepKey('Class0', 'wait')], declared: [stepKey('Class0', 'crowd')] };

interface PlannedStatement {
  readonly indexes: string[];
  /** Allowed instead, where the statistics are stale. */
  readonly untilAnalysed?: string[];
  readonly send: (connection: Connection) => Promise<unknown>;
}

/** The statements of waits, signals, members, retention and reads, with the indexes they go by. `plans.test.ts` has the others. */
describe('plans with runs that ended, wait, fan out and are due later', () => {
  let database: TestDatabase | undefined;
  let client: Client;
  let dataSource: DataSource;
  /** What TypeORM sends. */
  let logged: Sent[] = [];
  let access: RunAccess;
  let run: string;
  let step: string;

  async function freshDatabase() {
    await dropDatabase();
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    const logger = { logQuery: (text: string, values: unknown[] = []) => void logged.push({ text, values }) };
    dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      entities: [...WorkflowEntities],
      logging: true,
      logger: Object.assign(logger, { logQueryError() {}, logQuerySlow() {}, log() {} }) as unknown as Logger,
    }).initialize();
    const of = (entity: Parameters<DataSource['getRepository']>[0]) => dataSource.getRepository<any>(entity);
    access = new RunAccess(
      {} as ServiceParts,
      { runs: of(WorkflowRun), steps: of(WorkflowStep), events: of(WorkflowEvent), signals: of(WorkflowSignal) },
      {} as Starter,
    );
  }

  async function dropDatabase() {
    await client?.end();
    await dataSource?.destroy();
    await database?.drop();
  }

  async function fill() {
    await fillEnded(client);
    await schedule();
  }

  async function schedule() {
    await fillScheduled(client, SCHEDULED);
    await fillWaiting(client);
    [{ run, step }] = (
      await client.query(`select id as step, workflow_id as run from workflow_steps where status = 'waiting' limit 1`)
    ).rows;
  }

  afterAll(dropDatabase);

  /** What a read of a handle sends, one or more. */
  async function readBy(read: () => Promise<unknown>): Promise<Sent[]> {
    logged = [];
    // What it makes of the rows does not matter here: payloads are not read back without an application.
    await read().catch(() => undefined);
    expect(logged.length).toBeGreaterThan(0);
    return logged;
  }

  const reads: Record<string, { indexes: string[]; read: () => Promise<unknown> }> = {
    'of a run': { indexes: ['workflows_pkey'], read: () => access.read(run, dataSource.manager) },
    'of its steps': { indexes: ['workflow_steps_one_attempt'], read: () => access.steps(run, dataSource.manager) },
    'of its events': {
      indexes: ['workflow_events_pkey', 'workflow_steps_one_attempt'],
      read: () => access.events(run, dataSource.manager),
    },
    'of its signals': {
      indexes: ['workflow_signals_one_delivery'],
      read: () => access.signals(run, dataSource.manager),
    },
  };

  const member = { id: '1', claimNo: 1, status: 'completed', wait: 0, error: null } as const;
  const statements: Record<string, PlannedStatement> = {
    'a claim with nothing due in its lane': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_claim', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => claim(connection, { lanes: [{ queue: 'none', priority: 0 }], handlers: LOADED, plainSteps: [], gatedSteps: [], inHand: [] }, WORKER, 64),
    },
    'a claim in all lanes': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_claim', 'workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => claim(connection, { lanes: LANES, handlers: LOADED, plainSteps: [], gatedSteps: [], inHand: ['1'] }, WORKER, 64),
    },
    'the rows a worker has': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => ownedRows(connection, [step, '1', '2'], WORKER),
    },
    'the take of a guarded row': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => takeRow(connection, { id: step, workflowId: run }, WORKER, true),
    },
    'the look at a run': { indexes: ['workflows_pkey'], send: (connection) => runById(connection, run) },
    'the lock of a free run': { indexes: ['workflows_pkey'], send: (connection) => lockRunIfFree(connection, run) },
    'the look at a row': { indexes: ['workflow_steps_pkey'], send: (connection) => stepRow(connection, step) },
    'the run of a key': {
      indexes: ['workflows_idempotency_key'],
      send: (connection) => runByKey(connection, 'Class0', 'key'),
    },
    'the ongoing run of a subject': {
      indexes: ['workflows_one_ongoing'],
      // That of all ongoing runs looks as empty, and as cheap: until the tables are analysed again.
      untilAnalysed: ['workflows_ongoing'],
      send: (connection) => ongoingRunOf(connection, 'Class0', { type: 'Order', id: 'waiting 5' }),
    },
    'the outputs of a run': {
      indexes: ['workflow_steps_one_attempt'],
      send: (connection) => completedOutputs(connection, run, null),
    },
    'the reattempts of a step': {
      indexes: ['workflow_steps_one_attempt'],
      send: (connection) => consecutiveReattempts(connection, { workflowId: run, stepName: 'wait', attempt: 5 }, 10),
    },

    'the park of a run': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => park(connection, { id: step, workflowId: run }, 'told', { after: 1_000 }),
    },
    'a deadline moved': {
      indexes: ['workflow_steps_pkey'],
      send: (connection) => moveDeadline(connection, step, { every: 1_000 }),
    },
    'the look for passed deadlines': {
      indexes: ['workflow_steps_wait_deadline'],
      send: (connection) => passedDeadlines(connection, LOADED, ['1']),
    },
    'the look for the next deadline': {
      indexes: ['workflow_steps_wait_deadline'],
      send: (connection) => nextDeadlineIn(connection, LOADED, ['1']),
    },
    'the look for waits without a step': {
      indexes: ['workflow_steps_batches', 'workflow_steps_waiting'],
      send: (connection) => strandedWaits(connection, LOADED, STEPS, null),
    },

    'the signal of a key': {
      indexes: ['workflow_signals_one_delivery'],
      send: (connection) => signals.signalByKey(connection, run, 'key'),
    },
    'the pending signals': {
      indexes: ['workflow_signals_pending'],
      send: (connection) => signals.pendingSignals(connection, run, '0'),
    },
    'the signal that a step holds': {
      indexes: ['workflow_signals_one_delivery', 'workflow_steps_pkey'],
      send: (connection) => signals.heldSignal(connection, run, 'wait'),
    },
    'a signal claimed': {
      indexes: ['workflow_signals_pkey'],
      send: (connection) => signals.claimSignal(connection, '1', step, true),
    },
    'a signal stored': {
      indexes: ['workflows_pkey'],
      send: (connection) =>
        signals.insertSignal(connection, { workflowId: run, name: 'told', payload: '{}', idempotencyKey: null, actor: 'app', reason: null }),
    },

    'the park on a batch': {
      indexes: ['workflow_steps_pkey', 'workflows_pkey'],
      send: (connection) => batches.parkOnBatch(connection, { id: step, workflowId: run }, 10, null),
    },
    'the settlement of 100 members': {
      indexes: ['workflow_steps_pkey'],
      send: (connection) => members.settleMembers(connection, Array.from({ length: 100 }, () => member), 60_000),
    },
    'the look whether ends are stored': {
      indexes: ['workflow_steps_pkey'],
      send: (connection) => members.storedEnds(connection, [member]),
    },
    'the probe for an open member': {
      indexes: ['workflow_steps_open_members'],
      send: (connection) => batches.hasOpenMember(connection, step),
    },
    'the count of a batch': {
      indexes: ['workflow_steps_one_attempt'],
      send: (connection) => batches.countMembers(connection, { workflowId: run, step: 'crowd', id: step }),
    },
    'a batch made due to join': {
      indexes: ['workflow_steps_pkey'],
      send: (connection) => batches.makeDueToJoin(connection, step),
    },
    'the look for batches due to join': {
      indexes: ['workflow_steps_due_to_join'],
      send: (connection) => batches.dueJoins(connection, LOADED, ['1']),
    },
    'the look for batches that nobody joined': {
      indexes: ['workflow_steps_batches', 'workflow_steps_one_attempt', 'workflow_steps_open_members'],
      send: (connection) => batches.unjoinedBatches(connection, LOADED, FIRST_RUN, 8_000),
    },
    'the look for batches that ended': {
      indexes: ['workflow_steps_batches', 'workflow_steps_one_attempt'],
      send: (connection) => waitingBatches(connection, LOADED, 60_000, null),
    },

    'a page of runs past their retention': {
      indexes: ['workflow_steps_one_attempt', 'workflows_ended'],
      send: (connection) => endedRuns(connection, LOADED, 1_000, null),
    },
    'the deletion of 50 runs': {
      indexes: ['workflow_events_pkey', 'workflows_pkey'],
      send: (connection) => deleteRuns(connection, Array.from({ length: 50 }, () => randomUUID())),
    },
  }; // prettier-ignore

  /** What the planner can know: nothing, that the tables are empty, what was true before most of it came, or the truth. */
  const statistics: Record<string, () => Promise<void>> = {
    'never analysed': async () => {
      await freshDatabase();
      await fill();
    },
    'analysed while they were empty': async () => {
      await freshDatabase();
      await client.query('vacuum analyze');
      await fill();
    },
    'analysed before anything waited': async () => {
      await freshDatabase();
      await fillEnded(client);
      await client.query('vacuum analyze');
      await schedule();
    },
    analysed: async () => {
      await client.query('vacuum analyze');
    },
  };

  describe.each(Object.keys(statistics))('tables %s', (state) => {
    beforeAll(() => statistics[state](), 240_000);

    describe.each(MODES)('under %s', (mode) => {
      /** The indexes they go by. No table is read whole, nothing is costly. */
      async function indexesBy(sent: readonly Sent[]): Promise<string[]> {
        const used = new Set<string>();
        for (const one of sent) {
          const nodes = flat(await planOf(client, mode, one));
          expect(seqScansOf(nodes)).toEqual([]);
          expect(nodes[0]['Total Cost']).toBeLessThan(JIT_ABOVE_COST);
          for (const index of indexesOf(nodes)) used.add(index);
        }
        return [...used].toSorted();
      }

      test.each(Object.keys(statements))('%s stays on its indexes and below the cost of the JIT', async (name) => {
        const { indexes, untilAnalysed = indexes, send } = statements[name];
        const allowed = [indexes, state === 'analysed' ? indexes : untilAnalysed];
        expect(allowed).toContainEqual(await indexesBy([await statementOf(send)]));
      });

      test.each(Object.keys(reads))('the read %s stays on its indexes and below the cost of the JIT', async (name) => {
        const { indexes, read } = reads[name];
        expect(await indexesBy(await readBy(read))).toEqual(indexes);
      });
    });
  });
});
