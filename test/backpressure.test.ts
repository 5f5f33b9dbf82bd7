import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Step, Workflow, WorkflowOf, type Ctx, type WorkflowHandle, type WorkflowService } from 'nestjs-pg-workflows';
import { Connection } from '../libs/workflow/src/store/connection';
import { WorkflowRuntime } from '../libs/workflow/src/workflow.runtime';
import { gate, workflowSuite } from './support/suite';

const BURST = 2_000;
const SLOTS = 10;
const KB = 1024;
const MB = KB * KB;

let performed = 0;
/** Told how many of the burst have been performed. */
let count: (performed: number) => unknown = () => undefined;

@Workflow()
class Crowd extends WorkflowOf<null, { text: string }> {
  @Step() async only() {
    performed += 1;
    await count(performed);
  }
}

const order: string[] = [];

@Workflow({ jobOptions: { queue: 'elsewhere' } })
class Elsewhere extends WorkflowOf {
  @Step() async only(ctx: Ctx<this>) {
    order.push(ctx.workflowId);
  }
}

@Workflow({ jobOptions: { priority: -1 } })
class Urgent extends WorkflowOf {
  @Step() async only(ctx: Ctx<this>) {
    order.push(ctx.workflowId);
  }
}

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heap = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

async function startBurst(workflows: WorkflowService, bytes: number): Promise<void> {
  const args = { text: 'x'.repeat(bytes) };
  for (let started = 0; started < BURST; started += 500)
    await workflows.startMany(
      Crowd,
      Array.from({ length: 500 }, () => ({ args })),
    );
}

describe('a burst of starts', () => {
  const suite = workflowSuite();
  const { sql, eventually, until } = suite;

  beforeEach(() => {
    [performed, count, order.length] = [0, () => undefined, 0];
  });

  /** However slow the machine is: as long as more and more are performed. */
  const untilAllEnded = async () => {
    for (let goal = 200; goal <= BURST; goal += 200)
      await eventually(() => performed >= goal, `${goal} of ${BURST} are performed`);
    await eventually(
      async () => (await sql('select from workflows where ended_at is null limit 1')).length === 0,
      'all have ended',
    );
  };

  test('2,000 runs of 10 kB wait in the database: the worker takes no more than it has slots for, and its memory stays flat', async () => {
    const starter = await suite.boot([Crowd], { worker: false });
    await startBurst(starter.workflows, 10 * KB);
    const inProgress: number[] = [];
    const heaps: number[] = [];
    count = async (nth) => {
      if (nth % 200 !== 0) return;
      const [row] = await sql<{ taken: number }>(
        `select count(*)::int as taken from workflow_steps where status = 'in_progress'`,
      );
      inProgress.push(row.taken);
      heaps.push(heap());
    };
    await suite.boot([Crowd], { worker: { concurrency: SLOTS } });
    await untilAllEnded();
    expect(performed).toBe(BURST);
    expect(inProgress).toHaveLength(10);
    expect(Math.max(...inProgress)).toBeLessThanOrEqual(SLOTS);
    // The burst's arguments are 20 MB.
    expect(Math.max(...heaps) - heaps[0]).toBeLessThan(6 * MB);
  });

  test('another queue and a more urgent run on the same queue are served long before the burst is over', async () => {
    const app = await suite.boot([Crowd, Elsewhere, Urgent], { worker: { concurrency: SLOTS } });
    const underWay = gate();
    count = (nth) => nth === 50 && underWay.open();
    const starting = startBurst(app.workflows, 10);
    await underWay.opened;
    for (let round = 0; round < 5; round += 1) {
      for (const workflow of [Elsewhere, Urgent]) {
        const run: WorkflowHandle = await app.workflows.start(workflow);
        const before = performed;
        await eventually(() => order.includes(run.id), 'it is served');
        // Some claims, of no more rows than there are slots.
        expect(performed - before).toBeLessThanOrEqual(20 * SLOTS);
        expect(performed).toBeLessThan(BURST);
      }
    }
    await starting;
    await untilAllEnded();
    expect(performed).toBe(BURST);
  });

  test('2,000 calls of start at once, in the process that works: each has its run, and the worker works meanwhile', async () => {
    const { workflows } = await suite.boot([Crowd, Elsewhere], { worker: { concurrency: SLOTS } });
    const starting = Promise.all(Array.from({ length: BURST }, () => workflows.start(Crowd, { args: { text: 'x' } })));
    const other = await workflows.start(Elsewhere);
    const runs = await starting;
    const meanwhile = performed;
    expect(new Set(runs.map(({ id }) => id)).size).toBe(BURST);
    await untilAllEnded();
    expect(performed).toBe(BURST);
    await until(other, 'finished');
    expect(meanwhile).toBeGreaterThan(BURST / 20);
  });
});

// A database of its own: what others have read of these tables is counted too.
describe('a burst of starts into an empty database', () => {
  const suite = workflowSuite();
  const { sql, eventually } = suite;

  beforeEach(() => {
    [performed, count] = [0, () => undefined];
  });

  test('on tables that were empty as the worker began, rows are found by their index before PostgreSQL has analyzed anything', async () => {
    for (const table of ['workflows', 'workflow_steps'])
      await sql(`alter table ${table} set (autovacuum_enabled = false)`);
    const statements = jest.spyOn(Connection.prototype, 'run');
    try {
      const starter = await suite.boot([Crowd], { worker: false });
      // At each poll the table's size is measured, and statements are planned anew where it has grown.
      const worker = await suite.boot([Crowd], { worker: { concurrency: SLOTS, pollInterval: '1s' } });
      const claims = () => statements.mock.calls.filter(([{ name }]) => name === 'wf_claim').length;
      // By then PostgreSQL keeps one plan for all values.
      for (let looked = 0; looked < 20; looked += 1) {
        worker.app.get(WorkflowRuntime)['dispatcher']!.look();
        await eventually(() => claims() > looked, 'the worker has looked');
      }
      const rows = 6_000;
      await starter.dataSource.transaction(async (manager) => {
        for (let started = 0; started < rows; started += 500)
          await starter.workflows.startMany(
            Crowd,
            Array.from({ length: 500 }, () => ({ args: { text: '' } })),
            { manager },
          );
      });
      for (let goal = 500; goal <= rows; goal += 500)
        await eventually(() => performed >= goal, `${goal} of ${rows} are performed`);
      expect(claims()).toBeGreaterThan(rows / SLOTS);
      // What a connection has read is counted for certain once it has ended.
      await worker.close();
    } finally {
      statements.mockRestore();
    }
    const read = await sql<{ table: string; times: number }>(
      `select relname as table, (seq_tup_read / 6000)::int as times from pg_stat_user_tables
       where relname in ('workflows', 'workflow_steps') and seq_tup_read > 100 * 6000`,
    );
    expect(read).toEqual([]);
  });
});
