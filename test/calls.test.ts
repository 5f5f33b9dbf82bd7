import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import {
  defineSignal,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowOf,
  WorkflowService,
  type Ctx,
} from 'nestjs-pg-workflows';
import { untilWaitingForLocks } from './support/locks';
import { gate, workflowSuite } from './support/suite';

const Paid = defineSignal<{ by?: Customer }>('paid');

class Customer {
  constructor(readonly id: string) {}
}

@Workflow()
class Noted extends WorkflowOf {
  @Step()
  async one() {}
}

/** A loader that makes a call of its own: within the call that has it load. */
@SubjectLoader(Customer)
class CustomerLoader {
  constructor(private readonly workflows: WorkflowService) {}

  async load(id: string) {
    await this.workflows.start(Noted);
    return new Customer(id);
  }
}

@Workflow()
class Payment extends WorkflowOf {
  @Step({ waitFor: Paid })
  async paid(_ctx: Ctx<this, typeof Paid>) {}
}

@Workflow()
class GuardedSecond extends WorkflowOf {
  static goOn = gate();
  static second = 0;

  @Step()
  async first() {
    await GuardedSecond.goOn.opened;
  }

  @Step({ skipIf: () => false })
  async second() {
    GuardedSecond.second += 1;
  }
}

describe('calls of the application', () => {
  const suite = workflowSuite();

  test.each([
    [1, 2],
    [5, 10],
  ])('AMB-70 %s signals at once, whose loader makes a call itself, come through a pool of %s', async (at, poolSize) => {
    const { workflows } = await suite.boot([Payment, Noted, CustomerLoader], { poolSize });
    const runs = await workflows.startMany(
      Payment,
      Array.from({ length: at }, () => ({})),
    );
    for (const run of runs) await suite.until(run, 'waiting');
    await Promise.all(runs.map((run) => run.signal(Paid, { by: new Customer('1') })));
    for (const run of runs) expect(await suite.until(run, 'finished')).toBe('finished');
  });

  test('AMB-70 a transaction that holds what as many calls wait for as there are places can make another call', async () => {
    const { workflows, dataSource } = await suite.boot([Payment, Noted], { poolSize: 10 });
    const run = await workflows.start(Payment);
    await suite.until(run, 'waiting');
    const [others, noted] = await dataSource.transaction(async (manager) => {
      await run.signal('something', {}, { manager });
      const waiting = Array.from({ length: 5 }, () => run.signal('else', {}));
      await untilWaitingForLocks(suite, 5);
      return [waiting, await workflows.start(Noted)] as const;
    });
    await Promise.all(others);
    await suite.until(noted, 'finished');
    expect(await run.signals()).toHaveLength(6);
    await run.cancel();
  });
});

describe('a worker that stops', () => {
  const suite = workflowSuite();

  test('FLOW-18 claims no guarded step that its last settlement brings', async () => {
    const { app, workflows, close } = await suite.boot([GuardedSecond], { imports: [ScheduleModule.forRoot()] });
    const run = await workflows.start(GuardedSecond);
    await suite.until(run, 'performing');
    const other = await new DataSource({ type: 'postgres', url: suite.database.url }).initialize();
    let closed!: Promise<void>;
    await other.transaction(async (manager) => {
      await manager.query('lock table workflow_events in share mode');
      GuardedSecond.goOn.open();
      await untilWaitingForLocks(suite, 1);
      closed = close();
      await suite.eventually(() => app.get(SchedulerRegistry).getIntervals().length === 0, 'the worker stops looking');
    });
    await closed;
    await other.destroy();
    expect(GuardedSecond.second).toBe(0);
    expect(await suite.sql('select step_name, status from workflow_steps order by id')).toEqual([
      { step_name: 'first', status: 'completed' },
      { step_name: 'second', status: 'scheduled' },
    ]);
  });
});
