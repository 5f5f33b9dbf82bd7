import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { claim, LARGEST_CLAIM, type ClaimFilter } from '../libs/workflow/src/store/claim';
import { stepKey } from '../libs/workflow/src/store/step-key';
import { Connection, StatementTexts } from '../libs/workflow/src/store/connection';
import { createTestDatabase, type TestDatabase } from './support/database';
import { fillEnded, fillScheduled, LANES, LOADED } from './support/large-tables';
import { holdRuns } from './support/locks';
import { gate, workflowSuite } from './support/suite';

const TABLES = {
  runs: 'workflows',
  steps: 'workflow_steps',
  events: 'workflow_events',
  signals: 'workflow_signals',
};

const CLAIMERS = 4;
const ROUNDS = 40;

const FILTER: ClaimFilter = {
  lanes: LANES,
  handlers: LOADED,
  plainSteps: LOADED.map((name) => stepKey(name, 'one')),
  gatedSteps: [],
  inHand: [],
};

describe('claimers at once, with 200,000 scheduled rows', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await fillEnded(client);
    await fillScheduled(client);
    await client.end();
    dataSource = await new DataSource({ type: 'postgres', url: database.url, poolSize: CLAIMERS }).initialize();
  }, 240_000);

  afterAll(async () => {
    await dataSource?.destroy();
    await database?.drop();
  });

  /** Claims so often that rows are due all the time, and says how many rows each claim brought. */
  async function claimAll(): Promise<{ ids: string[]; sizes: number[] }> {
    const queryRunner = dataSource.createQueryRunner();
    const client = (await queryRunner.connect()) as ConstructorParameters<typeof Connection>[1];
    const connection = new Connection(queryRunner, client, new StatementTexts(TABLES));
    const worker = { id: randomUUID(), label: 'test:1', appRevision: null, lease: 8_000 };
    const ids: string[] = [];
    const sizes: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { plain } = await claim(connection, FILTER, worker, LARGEST_CLAIM);
      ids.push(...plain.map(({ id }) => id));
      sizes.push(plain.length);
    }
    await queryRunner.release();
    return { ids, sizes };
  }

  test('IDEM-07 four at once each get a full claim every time, never a row twice, and never meet in a deadlock', async () => {
    const claimed = await Promise.all(Array.from({ length: CLAIMERS }, claimAll));
    expect(new Set(claimed.flatMap(({ sizes }) => sizes))).toEqual(new Set([LARGEST_CLAIM]));

    const ids = claimed.flatMap((one) => one.ids);
    expect(new Set(ids).size).toBe(CLAIMERS * ROUNDS * LARGEST_CLAIM);
    const [counts] = await dataSource.query(
      `select (select count(*) from workflow_steps where status = 'in_progress' and claim_no = 1)::int as steps,
              (select count(*) from workflow_steps where status <> 'in_progress' and claim_no > 1)::int as others,
              (select count(*) from workflows where status = 'performing')::int as runs,
              (select count(*) from workflow_events where name = 'step_started')::int as started,
              (select count(distinct step_id) from workflow_events where name = 'step_started')::int as distinct_started`,
    );
    const all = ids.length;
    expect(counts).toEqual({ steps: all, others: 0, runs: all, started: all, distinct_started: all });
  });
});

const bodies = { all: gate(), begun: 0 };

@Workflow()
class Held extends WorkflowOf {
  @Step()
  async one() {
    bodies.begun += 1;
    await bodies.all.opened;
  }
}

@Workflow()
class Quick extends WorkflowOf {
  @Step()
  async one(ctx: Ctx<this>) {
    ctx.output({ done: true });
  }
}

/** A time that nothing in a test waits for. */
const NEVER = '1h';

describe("runs that a user's transaction holds", () => {
  const suite = workflowSuite();

  beforeEach(() => {
    bodies.all = gate();
    bodies.begun = 0;
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('IDEM-07 a due row of such a run is looked for ever more seldom, and taken once the run is free', async () => {
    const starter = await suite.boot([Quick], { worker: false });
    const run = await starter.workflows.start(Quick);
    const lock = await holdRuns(suite, [run.id]);
    const runs = jest.spyOn(Connection.prototype, 'run');
    const claims = () => runs.mock.calls.filter(([{ name }]) => name === 'wf_claim').length;

    const begun = performance.now();
    await suite.boot([Quick], { worker: { pollInterval: NEVER } });
    // One or two at once, of the start; then 10, 20, 40, 80, 160 ms apart at least. A worker that spins is done with them in no time.
    await suite.eventually(() => claims() >= 8, 'the worker has looked eight times');
    expect(performance.now() - begun).toBeGreaterThan(300);

    await lock.release();
    await suite.until(run, 'finished');
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'step_started', 'step_completed', 'finished']);
  });

  test('the outcome of such a run waits alone: those that ended with it are settled at once', async () => {
    const { workflows } = await suite.boot([Held]);
    const runs = await workflows.startMany(Held, [{}, {}, {}, {}]);
    await suite.eventually(() => bodies.begun === runs.length, 'all bodies run');
    const [held, ...others] = runs;
    const lock = await holdRuns(suite, [held.id]);

    bodies.all.open();
    await Promise.all(others.map((run) => suite.until(run, 'finished')));
    const later = await workflows.start(Held);
    await suite.until(later, 'finished');
    expect((await held.reload()).status).toBe('performing');

    await lock.release();
    await suite.until(held, 'finished');
  });
});
