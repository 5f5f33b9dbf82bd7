import { Step, Workflow, WorkflowOf, type WorkflowHandle } from 'nestjs-pg-workflows';
import { workflowSuite } from './support/suite';

const bodies: string[] = [];

@Workflow({ jobOptions: { queue: 'parcels', priority: 2 } })
class AtOnce extends WorkflowOf {
  @Step()
  async send() {
    bodies.push('AtOnce');
  }
}

@Workflow()
class Later extends WorkflowOf {
  @Step({ wait: 400 })
  async remind() {
    bodies.push('Later');
  }

  @Step({ wait: 300 })
  async remindAgain() {}
}

/** The process that starts runs has no worker; the one that runs them polls once an hour. Without LISTEN nothing would happen. */
describe('a run started in one process is run at once by the worker of another', () => {
  const suite = workflowSuite();

  async function bootTwo() {
    const starter = await suite.boot([AtOnce, Later], { worker: false });
    const worker = await suite.boot([AtOnce, Later], { worker: { pollInterval: '1h' } });
    return { starter, worker };
  }

  beforeEach(async () => {
    bodies.length = 0;
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('STA-14 STA-02 by notification: start and startMany, due at once or after a wait', async () => {
    const { starter } = await bootTwo();
    const runs = [
      await starter.workflows.start(Later),
      await starter.workflows.start(AtOnce),
      ...(await starter.workflows.startMany(AtOnce, [{}, {}])),
    ];
    for (const run of runs.toReversed()) await suite.until(run, 'finished');
    expect(bodies).toEqual(['AtOnce', 'AtOnce', 'AtOnce', 'Later']);
    const claimed = await suite.sql(
      `select count(*)::int as early from workflow_steps where started_at < available_at`,
    );
    expect(claimed).toEqual([{ early: 0 }]);
  });

  test("STA-14 at the commit of the caller's transaction, of TypeORM's making or a raw one", async () => {
    const { starter, worker } = await bootTwo();
    const { workflows, dataSource } = starter;
    const inside: WorkflowHandle[] = [];
    await dataSource.transaction(async (manager) => {
      inside.push(await workflows.start(AtOnce, { manager }), await workflows.start(Later, { manager }));
      // The worker is awake and looks, and finds nothing.
      await suite.until(await worker.workflows.start(AtOnce), 'finished');
      expect(bodies).toEqual(['AtOnce']);
    });
    const queryRunner = dataSource.createQueryRunner();
    await queryRunner.query('begin');
    inside.push(await workflows.start(AtOnce, { manager: queryRunner.manager }));
    inside.push(await workflows.start(Later, { manager: queryRunner.manager }));
    await queryRunner.query('commit');
    await queryRunner.release();
    for (const run of inside) await suite.until(run, 'finished');
    const by = await suite.sql(`select distinct worker_id from workflow_steps`);
    expect(by).toHaveLength(1);
  });

  test('STA-14 what was started while no worker was there is run when one comes', async () => {
    const starter = await suite.boot([AtOnce, Later], { worker: false });
    const runs = [await starter.workflows.start(AtOnce), await starter.workflows.start(Later)];
    await suite.boot([AtOnce, Later], { worker: { pollInterval: '1h' } });
    for (const run of runs) await suite.until(run, 'finished');
    // Both may be due when it comes.
    expect(bodies.toSorted()).toEqual(['AtOnce', 'Later']);
  });

  test('STA-14 with listen: false it is found by the poll', async () => {
    const starter = await suite.boot([AtOnce], { worker: false });
    await suite.boot([AtOnce], { worker: { pollInterval: 20, listen: false } });
    await suite.until(await starter.workflows.start(AtOnce), 'finished');
    expect(bodies).toEqual(['AtOnce']);
  });
});
